package hostile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/tests/oracle/random"
)

var gatewayAttack = &attack{
	target: "FuzzGateway", decides: true,
	routes: []string{"POST /v1/decisions/gateway"},
	draw: func(d random.Source, s *site, _ string) *request {
		return post(d, "/v1/decisions/gateway", s.drawGate(d).JSON())
	},
	judge: func(x *exchange) string {
		object := strict(x.body)
		may := object != nil && x.caller() != nil && x.site.lets(ints(object).(map[string]any))
		return x.judgeDecision(may, x.decoded()["allowed"])
	},
}

// FuzzGateway sends requests at the gateway point.
func FuzzGateway(f *testing.F) { gatewayAttack.fuzz(f) }

func (s *site) drawGate(d random.Source) *gateway.Request {
	if s.passes == nil {
		s.passes = s.gates.Requests(drawn)
	}
	return s.passes[d.IntN(drawn)]
}

// lets reports whether the oracle allows a request. Whole numbers in it are ints. The
// oracle reads attributes of the types that its own requests have; others allow nothing.
func (s *site) lets(input map[string]any) (allowed bool) {
	defer func() {
		if recover() != nil {
			allowed = false
		}
	}()
	for _, key := range []string{"gateway", "route"} {
		if object, ok := input[key].(map[string]any); ok {
			maps.DeleteFunc(object, func(_ string, value any) bool { return value == nil }) // null is absent
		}
	}
	route, named := input["route"].(map[string]any)
	if !named || route["rule"] != nil && route["rule"] != "" {
		return s.decidesToAllow(input)
	}
	// The oracle knows routes with their rule; without one the request is matched by the
	// rules of the route.
	return slices.ContainsFunc(s.gates.Routes, func(r *gateway.Route) bool {
		return slices.ContainsFunc(ruleNames(r), func(name string) bool {
			route["rule"] = name
			return s.decidesToAllow(input)
		})
	})
}

func (s *site) decidesToAllow(input map[string]any) bool {
	d := s.gates.Decide(&gateway.Request{Input: input})
	return d.Error == "" && d.Allowed
}

// ruleNames are the names of a route's rules, given or by their numbers.
func ruleNames(r *gateway.Route) (names []string) {
	for i, rule := range r.Rules {
		names = append(names, cmp.Or(rule.Name, fmt.Sprintf("rule-%d", i+1)))
	}
	return names
}

// ints are JSON values whose whole numbers are ints, and others float64, as the oracle has
// them.
func ints(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := strconv.Atoi(value.String()); err == nil {
			return n
		}
		if n, err := value.Float64(); err == nil {
			return n
		}
	case map[string]any:
		for key, member := range value {
			value[key] = ints(member)
		}
	case []any:
		for i, element := range value {
			value[i] = ints(element)
		}
	}
	return value
}

var effectiveAttack = &attack{
	target: "FuzzEffective",
	routes: []string{
		"GET /v1/effective", "HEAD /v1/effective",
		"GET /v1/effective/:kind/replaced", "HEAD /v1/effective/:kind/replaced", "GET /v1/effective/:kind/reach", "HEAD /v1/effective/:kind/reach",
		"GET /v1/effective/:kind/:target/:namespace/:name", "HEAD /v1/effective/:kind/:target/:namespace/:name",
	},
	draw: func(d random.Source, s *site, route string) *request {
		r := get(route)
		kind := d.One(gateway.Kinds)
		target, section, _ := strings.Cut(d.One(s.gates.Targets()), "#")
		r.path = strings.NewReplacer(":kind", kind, ":target/:namespace/:name", target).Replace(r.path)
		switch {
		case strings.HasSuffix(route, "/effective") && d.Once(2):
			r.query = "kind=" + kind
		case strings.HasSuffix(route, "reach"):
			r.query = "rule=" + d.One(append(s.gates.Keys(kind), "rules.authorization.a"))
		case section != "" && strings.HasSuffix(route, "name") && d.Once(2):
			r.query = "section=" + section
		}
		r.from(d, "t-auditor")
		return r
	},
	judge: func(x *exchange) string {
		if own := x.caller(); own == nil || !contains(own.groups, "auditors") {
			return "a caller that is not an auditor is answered"
		}
		if x.sent.Method == "GET" && !json.Valid(x.answer) {
			return "the answer is not JSON"
		}
		return ""
	},
}

// FuzzEffective asks for effective policies.
func FuzzEffective(f *testing.F) { effectiveAttack.fuzz(f) }
