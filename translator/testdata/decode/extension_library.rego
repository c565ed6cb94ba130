package writ.access # want unsafe-extension "package writ.access is not below writ.extensions"

decision := {"allowed": true}
