package oracle

import (
	"maps"
	"slices"
	"strings"
)

// richKey draws the key of a rule of an AuthPolicy that says much of requests.
func (g *gateGenerator) richKey() string {
	switch g.IntN(18) {
	case 0:
		return "when"
	case 1:
		return "patterns." + g.one(ruleNames)
	case 2, 3:
		return "rules.response." + g.one([]string{"unauthenticated", "unauthorized"})
	case 4, 5:
		return "rules.response.success." + g.one([]string{"headers.", "filters."}) + g.one(ruleNames)
	case 6, 7, 8:
		return "rules.authentication." + g.one(ruleNames)
	case 9:
		return "rules." + g.one([]string{"metadata.", "callbacks."}) + g.one(ruleNames)
	}
	return "rules.authorization." + g.one(ruleNames)
}

// enrich makes the rules of a block look at requests.
func (g *gateGenerator) enrich(b *GateBlock) {
	g.named = map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(b.Rules)) {
		b.Rules[key] = g.richValue(key)
	}
	for _, name := range slices.Sorted(maps.Keys(g.named)) {
		b.Rules["patterns."+name] = g.richValue("patterns." + name)
	}
}

func (g *gateGenerator) richValue(key string) any {
	parts := split(key)
	switch parts[0] {
	case "when":
		return g.conditions(2)
	case "patterns":
		patterns := list{}
		for range 1 + g.IntN(2) {
			patterns = append(patterns, g.pattern())
		}
		return object{{"allOf", patterns}}
	}
	var rule object
	switch parts[1] {
	case "response":
		return g.response(parts)
	case "authentication":
		rule = g.authentication()
		if g.once(3) {
			rule = object{{"anonymous", object{}}}
		}
	case "authorization":
		rule = g.authorization(parts[2])
		if g.once(2) {
			rule = append(rule, member{"priority", g.IntN(4) - 1})
		}
	default:
		rule = object{{"http", object{{"url", "http://a.example"}}}}
	}
	if g.once(3) {
		rule = append(rule, member{"when", g.conditions(2)})
	}
	return rule
}

// authorization draws an authorization rule; those that are named c are written in
// Rego, so that others know what they leave behind.
func (g *gateGenerator) authorization(name string) object {
	switch n := g.IntN(6); {
	case n == 0 || name == "c":
		body := object{{"rego", g.one(slices.Sorted(maps.Keys(bodies)))}}
		if g.once(2) {
			body = append(body, member{"allValues", g.once(2)})
		}
		return object{{"opa", body}}
	case n == 1 || n == 2:
		return object{{"kubernetesSubjectAccessReview", g.accessReview()}}
	}
	return object{{"patternMatching", object{{"patterns", g.conditions(2)}}}}
}

func (g *gateGenerator) accessReview() object {
	review := object{}
	if !g.once(5) {
		user := object{{"selector", "auth.identity.sub"}}
		if g.once(4) {
			user = object{{"value", g.one(users)}}
		}
		review = append(review, member{"user", user})
	}
	if g.once(3) {
		review = append(review, member{"groups", texts(g.some(1, 2, groupNames))})
	}
	if g.once(2) {
		review = append(review, member{"authorizationGroups", object{{"selector", "auth.identity.groups"}}})
	}
	if g.once(3) {
		return review
	}
	verb := object{{"value", g.one(kubernetesVerbs)}}
	if g.once(2) {
		verb = object{{"expression", "request.method == 'GET' ? 'get' : 'delete'"}}
	}
	attributes := object{{"verb", verb}, {"resource", object{{"value", g.one([]string{"pods", "deployments", "widgets"})}}}}
	for _, part := range []struct {
		key    string
		values []string
		of     int // how often it is there, once in so many times
	}{{"group", []string{"", "apps", "example.com"}, 2}, {"namespace", namespaces, 2}, {"subresource", []string{"log", "exec", "status"}, 5}} {
		if g.once(part.of) {
			attributes = append(attributes, member{part.key, object{{"value", g.one(part.values)}}})
		}
	}
	if g.once(4) {
		attributes = append(attributes, member{"name", object{{"selector", `request.path.@extract:{"sep":"/","pos":2}`}}})
	}
	return append(review, member{"resourceAttributes", attributes})
}

// conditions draws a list of conditions, nested as deep as that.
func (g *gateGenerator) conditions(depth int) list {
	items := list{}
	for range 1 + g.IntN(2) {
		items = append(items, g.condition(depth))
	}
	return items
}

func (g *gateGenerator) condition(depth int) object {
	switch n := g.IntN(7); {
	case n == 0 && depth > 0:
		return object{{g.one([]string{"all", "any"}), g.conditions(depth - 1)}}
	case n == 1:
		name := g.one(ruleNames)
		g.named[name] = true
		return object{{"patternRef", name}}
	case n == 2:
		return object{{"predicate", g.one([]string{"true", "true", "auth.identity.age > 18", "auth.metadata.account.quota > 3", "size(auth.identity.groups) > 1"})}}
	case n < 5:
		return object{{"predicate", g.one(slices.Sorted(maps.Keys(predicates)))}}
	}
	return g.pattern()
}

func (g *gateGenerator) pattern() object {
	selector := g.one(slices.Sorted(maps.Keys(selections)))
	operator := g.one([]string{"eq", "eq", "neq", "incl", "excl", "matches"})
	value := g.one(selections[selector])
	if operator == "matches" && (value == "?" || strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{")) {
		operator = "eq" // it is no expression
	}
	return object{{"selector", selector}, {"operator", operator}, {"value", value}}
}

// response draws the response of a denial, or an item of that of a success.
func (g *gateGenerator) response(parts []string) object {
	if parts[2] == "success" {
		item := g.item()
		if g.once(4) {
			item = append(item, member{"key", "k-" + parts[4]})
		}
		if g.once(3) {
			item = append(item, member{"when", g.conditions(1)})
		}
		return item
	}
	authenticated := parts[2] == "unauthorized"
	var response object
	if g.once(2) {
		response = append(response, member{"code", []int{302, 401, 403, 404, 418, 503}[g.IntN(6)]})
	}
	if g.once(2) {
		response = append(response, member{"message", g.gateValue(authenticated)})
	}
	if g.once(3) {
		response = append(response, member{"body", g.gateValue(authenticated)})
	}
	if g.once(3) {
		headers := object{{"x-why", g.gateValue(authenticated)}}
		if g.once(2) {
			headers = append(headers, member{"location", g.gateValue(authenticated)})
		}
		response = append(response, member{"headers", headers})
	}
	if response == nil {
		response = object{{"code", 499}}
	}
	return response
}

func (g *gateGenerator) item() object {
	switch g.IntN(6) {
	case 0:
		return object{{"wristband", object{{"issuer", "https://a.example"}, {"signingKeyRefs", list{object{{"name", "k"}, {"algorithm", "ES256"}}}}}}}
	case 1, 2:
		properties := object{}
		for _, name := range []string{"user", "Plan", "a.b"}[:1+g.IntN(3)] {
			properties = append(properties, member{name, g.gateValue(true)})
		}
		return object{{"json", object{{"properties", properties}}}}
	}
	return object{{"plain", g.gateValue(true)}}
}

// gateValue draws a value, a selector or an expression. Of one who is not
// authenticated there is nothing to tell.
func (g *gateGenerator) gateValue(authenticated bool) object {
	switch g.IntN(4) {
	case 0:
		selectors := foundAlways
		if authenticated {
			selectors = foundOften
		}
		return object{{"selector", g.one(selectors)}}
	case 1:
		return object{{"selector", g.one(templates)}}
	case 2:
		expression := g.one(slices.Sorted(maps.Keys(computed)))
		if !authenticated && strings.Contains(expression, "identity") {
			expression = "request.path"
		}
		return object{{"expression", expression}}
	}
	return object{{"value", g.one([]string{"v1", "v2", "w", ""})}}
}
