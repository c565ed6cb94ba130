package writ.extensions.ticket

holds(request, _) := "unknown" if not request.attributes.ticket

holds(request, params) if request.attributes.ticket in params.open
