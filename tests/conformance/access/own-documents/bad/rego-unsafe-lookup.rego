package writ.extensions.dns

holds(request, params) if count(net.lookup_ip_addr(params.host)) > 0
