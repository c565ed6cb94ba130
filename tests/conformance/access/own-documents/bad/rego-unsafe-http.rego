package writ.extensions.phone

holds(request, params) if http.send({"method": "get", "url": "http://x"}).status_code == 200
