package writ.extensions.unsafe

import data.writ.access # want unsafe-extension "data.writ.access"
import data.writ.extensions.other
import input.verb
import rego.v1

holds(request, params) if {
	http.send({"method": "GET", "url": "http://x"}).ok # want unsafe-extension "http.send"
	net.cidr_contains("10.0.0.0/8", request.attributes.ip) # want unsafe-extension "net.cidr_contains"
	rand.intn("x", 3) == 1 # want unsafe-extension "rand.intn"
	opa.runtime().env.X # want unsafe-extension "opa.runtime"
	uuid.rfc4122("x") # want unsafe-extension "uuid.rfc4122"
	io.jwt.decode_verify(request.attributes.t, {}) # want unsafe-extension "io.jwt.decode_verify"
	json.match_schema({}, params.schema) # want unsafe-extension "json.match_schema"
}

holds(request, params) if {
	data.compiled.access # want unsafe-extension "data.compiled.access"
	walk(data, [path, value]) # want unsafe-extension "data is outside"
	data.writ[request.user] # want unsafe-extension "data.writ[request.user]"
	data[params.x] # want unsafe-extension "data[params.x]"
	data.writ.extensions.other.fact
	count(data.writ.extensions) > 1
	input.user == request.user
	input.subjects # want unsafe-extension "input.subjects"
	walk(input, [path, value]) # want unsafe-extension "input is more"
	input[params.key] # want unsafe-extension "input[params.key]"
}

holds(request, params) if other.holds(request, params) with data.writ.access.decision as true # want unsafe-extension "data.writ.access.decision"

holds(request, params) if params.f with http.send as params.g # want unsafe-extension "http.send"

fetch := {x | some x in [http.send]} # want unsafe-extension "http.send"

default late := false

late if time.now_ns() > 0
else := data.leak # want unsafe-extension "data.leak"
