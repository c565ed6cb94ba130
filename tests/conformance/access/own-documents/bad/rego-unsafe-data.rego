package writ.extensions.peek

holds(request, params) if data.compiled.roles
