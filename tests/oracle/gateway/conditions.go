package gateway

import (
	"strings"

	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// mergeCondition is a condition in CEL with what it says of the lower policy, read
// by hand. What is missing makes it not hold.
type mergeCondition struct {
	text  string
	holds func(self any) bool
}

// in is the value below some keys, nil if it is missing. No value of a document
// that is read here is null.
func in(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func number(value any) int { n, _ := value.(int); return n }

func text(value any) string { s, _ := value.(string); return s }

func keysOf(value any) map[string]any { object, _ := value.(map[string]any); return object }

func itemsOf(value any) []any { items, _ := value.([]any); return items }

var mergeConditions = map[string][]*mergeCondition{
	"AuthPolicy": append([]*mergeCondition{
		{"self.spec.rules.authentication.a.jwt.ttl > 50", func(self any) bool {
			return number(in(self, "spec", "rules", "authentication", "a", "jwt", "ttl")) > 50
		}},
		{"has(self.spec.rules.authorization.b)", func(self any) bool {
			return in(self, "spec", "rules", "authorization", "b") != nil
		}},
		{"!has(spec.rules.authorization) || size(spec.rules.authorization) < 2", func(self any) bool {
			return in(self, "spec", "rules") != nil && len(keysOf(in(self, "spec", "rules", "authorization"))) < 2
		}},
		{"'a' in spec.rules.authentication", func(self any) bool {
			return in(self, "spec", "rules", "authentication", "a") != nil
		}},
		{"spec.rules.authorization.exists(k, k == 'x.y')", func(self any) bool {
			return in(self, "spec", "rules", "authorization", "x.y") != nil
		}},
		{"!has(self.spec.rules)", func(self any) bool { return in(self, "spec", "rules") == nil }},
		{"self.spec.when[1].predicate == 'true'", func(self any) bool {
			when := itemsOf(in(self, "spec", "when"))
			return len(when) > 1 && text(in(when[1], "predicate")) == "true"
		}},
		{"self.spec.rules.response.success.headers['x.y'].plain.value.startsWith('v')", func(self any) bool {
			return strings.HasPrefix(text(in(self, "spec", "rules", "response", "success", "headers", "x.y", "plain", "value")), "v")
		}},
		{"has(spec.rules.response.unauthorized.code) && spec.rules.response.unauthorized.code >= 403", func(self any) bool {
			return number(in(self, "spec", "rules", "response", "unauthorized", "code")) >= 403
		}},
		{"self.spec.patterns.a.allOf[0].value != 'GET'", func(self any) bool {
			all := itemsOf(in(self, "spec", "patterns", "a", "allOf"))
			return len(all) > 0 && text(in(all[0], "value")) != "GET"
		}},
		{"self.kind == 'AuthPolicy' && self.apiVersion == 'kuadrant.io/v1'", func(any) bool { return true }},
	}, anyCondition...),
	"RateLimitPolicy": append([]*mergeCondition{
		{"self.spec.limits.a.rates.exists(r, r.limit > 50)", func(self any) bool {
			for _, rate := range itemsOf(in(self, "spec", "limits", "a", "rates")) {
				if number(in(rate, "limit")) > 50 {
					return true
				}
			}
			return false
		}},
		{"spec.limits.a.rates[1].window == '1m' || spec.limits.b.rates[0].limit < 10", func(self any) bool {
			a, b := itemsOf(in(self, "spec", "limits", "a", "rates")), itemsOf(in(self, "spec", "limits", "b", "rates"))
			return len(a) > 1 && text(in(a[1], "window")) == "1m" || len(b) > 0 && number(in(b[0], "limit")) < 10
		}},
		{"size(spec.limits) > 1", func(self any) bool { return len(keysOf(in(self, "spec", "limits"))) > 1 }},
		{"!('a' in spec.limits)", func(self any) bool {
			return in(self, "spec", "limits") != nil && in(self, "spec", "limits", "a") == nil
		}},
		{"!has(spec.limits)", func(self any) bool { return in(self, "spec", "limits") == nil }},
		{"self.spec.limits['x.y'].rates.all(r, r.limit <= 50)", func(self any) bool {
			rates := itemsOf(in(self, "spec", "limits", "x.y", "rates"))
			for _, rate := range rates {
				if number(in(rate, "limit")) > 50 {
					return false
				}
			}
			return len(rates) > 0
		}},
		{"self.kind == 'AuthPolicy'", func(any) bool { return false }},
	}, anyCondition...),
}

var anyCondition = []*mergeCondition{
	{"self.metadata.namespace == 'books'", func(self any) bool { return text(in(self, "metadata", "namespace")) == "books" }},
	{"self.metadata.name in ['p1', 'p2', 'p3']", func(self any) bool {
		name := text(in(self, "metadata", "name"))
		return name == "p1" || name == "p2" || name == "p3"
	}},
	{"spec.targetRef.kind == 'HTTPRoute'", func(self any) bool { return text(in(self, "spec", "targetRef", "kind")) == "HTTPRoute" }},
	{"self.spec.targetRef.sectionName != ''", func(self any) bool { return text(in(self, "spec", "targetRef", "sectionName")) != "" }},
	{"self.metadata.name == ''", func(self any) bool { return text(in(self, "metadata", "name")) == "" }},
	{"spec == {}", func(self any) bool { return len(keysOf(in(self, "spec"))) == 0 }},
	{"true", func(any) bool { return true }},
	{"false", func(any) bool { return false }},
}

// self is the lower policy that a condition of the policy with this place among
// those of the path sees: that of its overrides, or of its defaults.
func (f *Fold) self(at int, overrides bool) map[string]any {
	spec := map[string]any{}
	for key, value := range f.Rules {
		parts := split(key)
		below := spec
		for _, part := range parts[:len(parts)-1] {
			if below[part] == nil {
				below[part] = map[string]any{}
			}
			below = below[part].(map[string]any)
		}
		below[parts[len(parts)-1]] = plainValue(value)
	}
	kind, name, namespace := f.Policies[at].Kind, "", ""
	// A policy that is the lowest itself is its own lower policy once its defaults are
	// applied.
	own := f.Policies[at].Defaults
	if lowest := len(f.Policies) - 1; at < lowest || overrides && own != nil && !f.idle[own] {
		p := f.Policies[lowest]
		name, namespace = p.Name, p.Namespace
		target := map[string]any{"group": gatewayGroup, "kind": p.TargetKind, "name": p.TargetName}
		if p.Section != "" {
			target["sectionName"] = p.Section
		}
		spec["targetRef"] = target
	}
	return map[string]any{
		"apiVersion": version(kind), "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     spec,
	}
}

var prefixes = []string{
	"rules.authentication.", "rules.metadata.", "rules.authorization.", "rules.callbacks.",
	"rules.response.success.headers.", "rules.response.success.filters.", "patterns.", "limits.",
}

// split is where a rule stands below spec.
func split(key string) []string {
	for _, prefix := range prefixes {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return append(strings.Split(strings.TrimSuffix(prefix, "."), "."), name)
		}
	}
	return strings.Split(key, ".")
}

// plainValue is a value of a document as JSON has it.
func plainValue(value any) any {
	switch v := value.(type) {
	case yaml.Object:
		out := map[string]any{}
		for _, m := range v {
			out[m.Key()] = plainValue(m[1])
		}
		return out
	case yaml.List:
		out := []any{}
		for _, item := range v {
			out = append(out, plainValue(item))
		}
		return out
	case yaml.Marked:
		return plainValue(v.Value)
	}
	return value
}
