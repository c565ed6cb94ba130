package writ.extensions.broken

holds(request, params) if request.user == } # want rego "unexpected }"
