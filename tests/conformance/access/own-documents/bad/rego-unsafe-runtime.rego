package writ.extensions.env

holds(request, params) if opa.runtime().env.X
