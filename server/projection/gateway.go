package projection

import (
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/footprint"
)

// GatewayKeys projects requests at the gateway point. It is immutable.
type GatewayKeys struct {
	f              *footprint.Gateway
	paths          *values
	headers, reads []gatewayRead
}

// gatewayRead is a path to an attribute, and its form in keys.
type gatewayRead struct {
	steps []string
	name  []byte
}

func gatewayReadOf(steps []string) gatewayRead {
	return gatewayRead{steps, appendList([]byte{unnamed}, steps)}
}

// NewGatewayKeys returns the projection for a footprint; nil projects no request.
func NewGatewayKeys(f *footprint.Gateway) *GatewayKeys {
	p := &GatewayKeys{f: f}
	if f == nil {
		return p
	}
	p.paths = &values{named: setOf(f.Paths.Values), prefixes: make(set), keep: f.WholePath}
	for _, pattern := range f.Paths.Patterns {
		p.paths.addPrefix(strings.TrimSuffix(pattern, "/*"))
	}
	for _, header := range f.Headers {
		p.headers = append(p.headers, gatewayReadOf([]string{"request", "headers", header}))
	}
	for _, steps := range f.Reads {
		if len(steps) == 2 && steps[0] == "request" && (steps[1] == "host" || steps[1] == "method" || steps[1] == "scheme") {
			continue // each key has them
		}
		p.reads = append(p.reads, gatewayReadOf(steps))
	}
	return p
}

// GatewayKey appends the projection of a request. It returns false for a request that may be
// invalid, which must be decided by itself, and if the bundle has no footprint.
func (p *GatewayKeys) GatewayKey(b []byte, r *decision.GatewayRequest) ([]byte, bool) {
	var a attributes
	if p.f == nil || !a.Read(r) {
		return b, false
	}
	for _, member := range [...]decision.GatewayMember{
		decision.GatewayNamespace, decision.GatewayName, decision.GatewayListener,
		decision.RouteKind, decision.RouteNamespace, decision.RouteName, decision.RouteRule,
		decision.RequestHost, decision.RequestMethod, decision.RequestScheme,
	} {
		if text, ok := a.Member(member).Text(); ok {
			b = appendText(b, text)
		} else {
			b = append(b, unnamed)
		}
	}
	if port := a.Member(decision.DestinationPort); port.IsNull() {
		b = append(b, unnamed)
	} else {
		b = appendAttribute(append(b, absent), port)
	}
	b = p.appendPath(b, a.URLPath())
	if p.f.Query {
		b = appendText(b, a.Query())
	}
	if p.f.WholePath { // matches of gRPC
		b = a.appendHeader(b, "content-type")
	}
	b = a.appendReads(b, p.headers)
	// An identity without a value is not an identity.
	b = append(b, identityMark(a.Member(decision.AuthIdentity)))
	return a.appendReads(b, p.reads), true
}

// appendReads appends the values of paths, with the path, and nothing for a value that is
// absent: the key of a request does not change with policies that read what it lacks.
func (a *attributes) appendReads(b []byte, reads []gatewayRead) []byte {
	for i := range reads {
		before := len(b)
		b = append(b, reads[i].name...)
		named := len(b)
		b = a.appendRead(b, reads[i].steps)
		if len(b) == named || len(b) == named+1 && b[named] == absent {
			b = b[:before]
		}
	}
	return append(b, absent)
}

// appendPath appends the path without its query, or which routes match it.
func (p *GatewayKeys) appendPath(b []byte, path string) []byte {
	if p.paths.keep || p.paths.named.has(path) {
		return appendText(b, path)
	}
	b = append(b, unnamed)
	for _, length := range p.paths.lengths {
		if length <= len(path) && (length == len(path) || path[length] == '/') && p.paths.prefixes.has(path[:length]) {
			return appendText(b, path[:length])
		}
	}
	return append(b, absent)
}

func identityMark(identity decision.Attribute) byte {
	switch {
	case identity.IsNull():
		return absent
	case identity.IsFalse():
		return unnamed
	}
	return firstLength
}

// attributes are those of a request, as Envoy names them.
type attributes struct{ decision.GatewayMembers }

// appendRead appends the value of a path that policies read, and perhaps more.
func (a *attributes) appendRead(b []byte, steps []string) []byte {
	switch steps[0] {
	case "request":
		return a.appendOfRequest(b, steps[1:])
	case "context": // the same values by other names
		if len(steps) > 3 && steps[1] == "request" {
			return a.appendOfRequest(b, steps[3:])
		}
		return appendAttribute(appendAttribute(b, a.Attribute("request")), a.Attribute("source"))
	case "auth":
		switch {
		case len(steps) == 1:
			return appendAttribute(b, a.Attribute("auth"))
		case steps[1] == "identity" && len(steps) > 2:
			if identity := a.Member(decision.AuthIdentity); identity.IsObject() {
				return appendStep(b, identity, steps[2:])
			}
			return appendStep(b, a.Attribute("auth"), steps[1:])
		case steps[1] == "identity", steps[1] == "metadata":
			return appendStep(b, a.Attribute("auth"), steps[1:])
		}
		return b // results of rules
	}
	return appendStep(b, a.Attribute(steps[0]), steps[1:])
}

func (a *attributes) appendOfRequest(b []byte, steps []string) []byte {
	switch {
	case steps[0] == "headers" && len(steps) > 1:
		return a.appendHeader(b, steps[1])
	case steps[0] == "url_path":
		return appendText(b, a.URLPath())
	case steps[0] == "query":
		return appendText(b, a.Query())
	}
	return appendStep(b, a.Attribute("request"), steps)
}

// appendStep appends the value at the end of the steps, and all of a list on the way.
func appendStep(b []byte, object decision.Attribute, steps []string) []byte {
	if len(steps) == 0 {
		return appendAttribute(b, object)
	}
	value := object.Member(steps[0])
	if value.IsObject() && len(steps) > 1 {
		return appendStep(b, value, steps[1:])
	}
	if value.IsAbsent() {
		return append(b, absent)
	}
	return appendAttribute(append(b, unnamed), value)
}

// appendAttribute is appendJSON for an attribute; an absent one is as null.
func appendAttribute(b []byte, value decision.Attribute) []byte {
	return append(value.AppendJSON(b), '\n')
}

// appendHeader appends a header. Of names that differ only in case, the first in byte
// order counts.
func (a *attributes) appendHeader(b []byte, lower string) []byte {
	first, text, found := "", "", false
	for name, value := range a.Member(decision.RequestHeaders).Members() {
		if strings.ToLower(name) == lower && (!found || name < first) {
			first, found = name, true
			text, _ = value.Text()
		}
	}
	if !found {
		return append(b, absent)
	}
	return appendText(append(b, unnamed), text)
}
