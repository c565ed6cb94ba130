package gateway

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// richKey draws the key of a rule of an AuthPolicy that says much of requests.
func (g *generator) richKey() string {
	switch g.IntN(18) {
	case 0:
		return "when"
	case 1:
		return "patterns." + g.One(ruleNames)
	case 2, 3:
		return "rules.response." + g.One([]string{"unauthenticated", "unauthorized"})
	case 4, 5:
		return "rules.response.success." + g.One([]string{"headers.", "filters."}) + g.One(ruleNames)
	case 6, 7, 8:
		return "rules.authentication." + g.One(ruleNames)
	case 9:
		return "rules." + g.One([]string{"metadata.", "callbacks."}) + g.One(ruleNames)
	}
	return "rules.authorization." + g.One(ruleNames)
}

// enrich makes the rules of a block look at requests.
func (g *generator) enrich(b *Block) {
	g.named = map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(b.Rules)) {
		b.Rules[key] = g.richValue(key)
	}
	for _, name := range slices.Sorted(maps.Keys(g.named)) {
		b.Rules["patterns."+name] = g.richValue("patterns." + name)
	}
}

func (g *generator) richValue(key string) any {
	parts := split(key)
	switch parts[0] {
	case "when":
		return g.conditions(2)
	case "patterns":
		patterns := yaml.List{}
		for range 1 + g.IntN(2) {
			patterns = append(patterns, g.pattern())
		}
		return yaml.Object{{"allOf", patterns}}
	}
	var rule yaml.Object
	switch parts[1] {
	case "response":
		return g.response(parts)
	case "authentication":
		rule = g.authentication()
		if g.Once(3) {
			rule = yaml.Object{{"anonymous", yaml.Object{}}}
		}
	case "authorization":
		rule = g.authorization(parts[2])
		if g.Once(2) {
			rule = append(rule, yaml.Member{"priority", g.IntN(4) - 1})
		}
	default:
		rule = yaml.Object{{"http", yaml.Object{{"url", "http://a.example"}}}}
	}
	if g.Once(3) {
		rule = append(rule, yaml.Member{"when", g.conditions(2)})
	}
	return rule
}

// authorization draws an authorization rule; those that are named c are written in
// Rego, so that others know what they leave behind.
func (g *generator) authorization(name string) yaml.Object {
	switch n := g.IntN(6); {
	case n == 0 || name == "c":
		body := yaml.Object{{"rego", g.One(slices.Sorted(maps.Keys(bodies)))}}
		if g.Once(2) {
			body = append(body, yaml.Member{"allValues", g.Once(2)})
		}
		return yaml.Object{{"opa", body}}
	case n == 1 || n == 2:
		return yaml.Object{{"kubernetesSubjectAccessReview", g.accessReview()}}
	}
	return yaml.Object{{"patternMatching", yaml.Object{{"patterns", g.conditions(2)}}}}
}

func (g *generator) accessReview() yaml.Object {
	review := yaml.Object{}
	if !g.Once(5) {
		user := yaml.Object{{"selector", "auth.identity.sub"}}
		if g.Once(4) {
			user = yaml.Object{{"value", g.One(random.Users)}}
		}
		review = append(review, yaml.Member{"user", user})
	}
	if g.Once(3) {
		review = append(review, yaml.Member{"groups", yaml.Texts(g.Some(1, 2, random.Groups))})
	}
	if g.Once(2) {
		review = append(review, yaml.Member{"authorizationGroups", yaml.Object{{"selector", "auth.identity.groups"}}})
	}
	if g.Once(3) {
		return review
	}
	verb := yaml.Object{{"value", g.One(access.KubernetesVerbs)}}
	if g.Once(2) {
		verb = yaml.Object{{"expression", "request.method == 'GET' ? 'get' : 'delete'"}}
	}
	attributes := yaml.Object{{"verb", verb}, {"resource", yaml.Object{{"value", g.One([]string{"pods", "deployments", "widgets"})}}}}
	for _, part := range []struct {
		key    string
		values []string
		of     int // how often it is there, once in so many times
	}{{"group", []string{"", "apps", "example.com"}, 2}, {"namespace", random.Namespaces, 2}, {"subresource", []string{"log", "exec", "status"}, 5}} {
		if g.Once(part.of) {
			attributes = append(attributes, yaml.Member{part.key, yaml.Object{{"value", g.One(part.values)}}})
		}
	}
	if g.Once(4) {
		attributes = append(attributes, yaml.Member{"name", yaml.Object{{"selector", `request.path.@extract:{"sep":"/","pos":2}`}}})
	}
	return append(review, yaml.Member{"resourceAttributes", attributes})
}

// conditions draws a list of conditions, nested as deep as that.
func (g *generator) conditions(depth int) yaml.List {
	items := yaml.List{}
	for range 1 + g.IntN(2) {
		items = append(items, g.condition(depth))
	}
	return items
}

func (g *generator) condition(depth int) yaml.Object {
	switch n := g.IntN(7); {
	case n == 0 && depth > 0:
		return yaml.Object{{g.One([]string{"all", "any"}), g.conditions(depth - 1)}}
	case n == 1:
		name := g.One(ruleNames)
		g.named[name] = true
		return yaml.Object{{"patternRef", name}}
	case n == 2:
		return yaml.Object{{"predicate", g.One([]string{"true", "true", "auth.identity.age > 18", "auth.metadata.account.quota > 3", "size(auth.identity.groups) > 1"})}}
	case n < 5:
		return yaml.Object{{"predicate", g.One(slices.Sorted(maps.Keys(predicates)))}}
	}
	return g.pattern()
}

func (g *generator) pattern() yaml.Object {
	selector := g.One(slices.Sorted(maps.Keys(selections)))
	operator := g.One([]string{"eq", "eq", "neq", "incl", "excl", "matches"})
	value := g.One(selections[selector])
	if operator == "matches" && (value == "?" || strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{")) {
		operator = "eq" // it is not an expression
	}
	return yaml.Object{{"selector", selector}, {"operator", operator}, {"value", value}}
}

// response draws the response of a denial, or an item of that of a success.
func (g *generator) response(parts []string) yaml.Object {
	if parts[2] == "success" {
		item := g.item()
		if g.Once(4) {
			item = append(item, yaml.Member{"key", "k-" + parts[4]})
		}
		if g.Once(3) {
			item = append(item, yaml.Member{"when", g.conditions(1)})
		}
		return item
	}
	authenticated := parts[2] == "unauthorized"
	var response yaml.Object
	if g.Once(2) {
		response = append(response, yaml.Member{"code", []int{302, 401, 403, 404, 418, 503}[g.IntN(6)]})
	}
	if g.Once(2) {
		response = append(response, yaml.Member{"message", g.gateValue(authenticated)})
	}
	if g.Once(3) {
		response = append(response, yaml.Member{"body", g.gateValue(authenticated)})
	}
	if g.Once(3) {
		headers := yaml.Object{{"x-why", g.gateValue(authenticated)}}
		if g.Once(2) {
			headers = append(headers, yaml.Member{"location", g.gateValue(authenticated)})
		}
		response = append(response, yaml.Member{"headers", headers})
	}
	if response == nil {
		response = yaml.Object{{"code", 499}}
	}
	return response
}

func (g *generator) item() yaml.Object {
	switch g.IntN(6) {
	case 0:
		return yaml.Object{{"wristband", yaml.Object{{"issuer", "https://a.example"}, {"signingKeyRefs", yaml.List{yaml.Object{{"name", "k"}, {"algorithm", "ES256"}}}}}}}
	case 1, 2:
		properties := yaml.Object{}
		for _, name := range []string{"user", "Plan", "a.b"}[:1+g.IntN(3)] {
			properties = append(properties, yaml.Member{name, g.gateValue(true)})
		}
		return yaml.Object{{"json", yaml.Object{{"properties", properties}}}}
	}
	return yaml.Object{{"plain", g.gateValue(true)}}
}

// gateValue draws a value, a selector or an expression. A request that is
// not authenticated has no identity to select from.
func (g *generator) gateValue(authenticated bool) yaml.Object {
	switch g.IntN(4) {
	case 0:
		selectors := foundAlways
		if authenticated {
			selectors = foundOften
		}
		return yaml.Object{{"selector", g.One(selectors)}}
	case 1:
		return yaml.Object{{"selector", g.One(templates)}}
	case 2:
		expression := g.One(slices.Sorted(maps.Keys(computed)))
		if !authenticated && strings.Contains(expression, "identity") {
			expression = "request.path"
		}
		return yaml.Object{{"expression", expression}}
	}
	return yaml.Object{{"value", g.One([]string{"v1", "v2", "w", ""})}}
}
