package writ.access

holds(request, params) if true
