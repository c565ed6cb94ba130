package writ.extensions.f

holds(request, params) if no_such_function(request)
