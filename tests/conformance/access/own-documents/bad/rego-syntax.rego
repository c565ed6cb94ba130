package writ.extensions.broken

holds(request, params) if {
