package writ.extensions.old

holds(request, params) { # want rego "`if` keyword is required"
	true
}
