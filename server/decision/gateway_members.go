package decision

import "slices"

// GatewayMember is a known member of an attribute of a gateway request.
type GatewayMember uint8

// The members that routes and listeners are chosen by, and otherMember for all others.
const (
	otherMember GatewayMember = iota
	GatewayNamespace
	GatewayName
	GatewayListener
	RouteKind
	RouteNamespace
	RouteName
	RouteRule
	RequestHost
	RequestMethod
	RequestScheme
	requestPath
	requestURLPath
	requestQuery
	RequestHeaders
	DestinationPort
	AuthIdentity
	gatewayMembers
)

// memberType is the type of a known member. A value of another type makes a request invalid.
type memberType uint8

const (
	anyType memberType = iota
	textType
	numberType
	objectType
	textsType // an object whose values are strings
)

// knownMember is a member of an attribute that has a type, or is looked up.
type knownMember struct {
	name    string
	member  GatewayMember
	itsType memberType
}

// knownMembers are those of each of gatewayKeys; those that most requests have come first.
var knownMembers = [len(gatewayKeys)][]knownMember{
	gatewayKey: {
		{"name", GatewayName, textType}, {"namespace", GatewayNamespace, textType}, {"listener", GatewayListener, textType},
	},
	routeKey: {
		{"name", RouteName, textType}, {"namespace", RouteNamespace, textType}, {"kind", RouteKind, textType},
		{"rule", RouteRule, textType},
	},
	requestKey: {
		{"host", RequestHost, textType}, {"path", requestPath, textType}, {"method", RequestMethod, textType},
		{"headers", RequestHeaders, textsType}, {"scheme", RequestScheme, textType}, {"id", otherMember, textType},
		{"protocol", otherMember, textType}, {"size", otherMember, numberType}, {"url_path", requestURLPath, textType},
		{"query", requestQuery, textType}, {"body", otherMember, textType},
	},
	sourceKey: {
		{"address", otherMember, textType}, {"port", otherMember, numberType}, {"principal", otherMember, textType},
		{"service", otherMember, textType}, {"certificate", otherMember, textType}, {"labels", otherMember, textsType},
	},
	destinationKey: {{"address", otherMember, textType}, {"port", DestinationPort, numberType}},
	authKey:        {{"identity", AuthIdentity, anyType}, {"metadata", otherMember, objectType}},
}

// memberOf returns which member of one of gatewayKeys a name is of, and the type it must have.
func memberOf(at int, name string) (GatewayMember, memberType) {
	for i := range knownMembers[at] {
		if known := &knownMembers[at][i]; known.name == name {
			return known.member, known.itsType
		}
	}
	return otherMember, anyType
}

// GatewayMembers are the attributes of a gateway request, found in one pass over it. Those that
// the request does not have are absent.
type GatewayMembers struct {
	attributes [len(gatewayKeys)]Attribute
	members    [gatewayMembers]Attribute
}

// Read sets m, which must be its zero value, to the attributes of a request. It returns false
// for a request that is not plain, of which it sets a part.
func (m *GatewayMembers) Read(r *GatewayRequest) bool {
	for name, value := range r.all().Members() {
		at := slices.Index(gatewayKeys[:], name)
		if at < 0 || !value.IsNull() && !m.readObject(at, value) {
			return false
		}
		m.attributes[at] = value
	}
	for _, required := range [...]GatewayMember{RequestHost, RequestMethod, requestPath} {
		if text, _ := m.members[required].Text(); text == "" {
			return false
		}
	}
	return true
}

// readObject sets the members of an attribute, and reports whether all are of their types.
func (m *GatewayMembers) readObject(at int, attribute Attribute) bool {
	if !attribute.IsObject() {
		return false
	}
	named, size := 0, 0
	for name, value := range attribute.Members() {
		size++
		if value.IsNull() {
			continue
		}
		member, itsType := memberOf(at, name)
		if !value.isOf(itsType) {
			return false
		}
		text, _ := value.Text()
		if member == RouteKind && text != "" && text != "HTTPRoute" && text != "GRPCRoute" {
			return false
		}
		if text != "" && (name == "namespace" || name == "name") {
			named++
		}
		m.members[member] = value
	}
	return size == 0 || named == 2 || at != gatewayKey && at != routeKey
}

// Attribute returns an attribute of the request by its name.
func (m *GatewayMembers) Attribute(name string) Attribute {
	if at := slices.Index(gatewayKeys[:], name); at >= 0 {
		return m.attributes[at]
	}
	return Attribute{}
}

// Member returns a known member.
func (m *GatewayMembers) Member(member GatewayMember) Attribute { return m.members[member] }

// URLPath returns the path without its query.
func (m *GatewayMembers) URLPath() string {
	return partOfPath(m.members[requestURLPath], m.members[requestPath], 0)
}

// Query returns the query, which may be part of the path.
func (m *GatewayMembers) Query() string {
	return partOfPath(m.members[requestQuery], m.members[requestPath], 1)
}

func (a Attribute) isOf(t memberType) bool {
	switch t {
	case anyType:
	case textType:
		_, isText := a.Text()
		return isText
	case numberType:
		return a.isNumber()
	case objectType:
		return a.IsObject()
	case textsType:
		return isTextMap(a)
	}
	return true
}

func isTextMap(value Attribute) bool {
	for _, member := range value.Members() {
		if _, isText := member.Text(); !isText {
			return false
		}
	}
	return value.IsObject()
}
