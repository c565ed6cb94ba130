package verify

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// texts is the headers or the parameters of a request.
type texts = map[string]string

// headerSets returns the headers that matches and classes tell apart.
func (s *space) headerSets(p *prover) []texts {
	by := newKeyed()
	for _, c := range s.classes {
		if l := c.Labels["headers"]; l != nil {
			for _, t := range l.Terms {
				by.of(strings.ToLower(t.Key)).class(t.Value)
			}
			by.tests = append(by.tests, func(set texts) bool { return fitsHeaders(c, set) })
		}
	}
	for _, m := range s.matches {
		by.match(m.Headers, strings.ToLower)
		if m.GRPC != nil {
			by.match([]tables.GatewayValueMatch{{Type: regularExpression, Name: contentType, Value: "application/grpc(?:[+;].*)?"}}, strings.ToLower)
			by.of(contentType).list.Add("application/grpc")
		}
	}
	return slices.DeleteFunc(by.sets(p), func(set texts) bool { return !fitsHeaders(s.classes[0], set) })
}

// querySets returns the parameters that matches tell apart.
func (s *space) querySets(p *prover) []texts {
	by := newKeyed()
	for _, m := range s.matches {
		by.match(m.Query, func(name string) string { return name })
	}
	return by.sets(p)
}

// keyed is values by key, with what tells sets of them apart.
type keyed struct {
	keys  []string
	by    map[string]*criteriaOf
	whole []texts // what one match requires
	tests []func(texts) bool
}

func newKeyed() *keyed { return &keyed{by: make(map[string]*criteriaOf)} }

func (k *keyed) of(key string) *criteriaOf {
	if k.by[key] == nil {
		k.keys = append(k.keys, key)
		k.by[key] = new(criteriaOf)
	}
	return k.by[key]
}

// match adds the headers or parameters of a match, by their names as requests have them.
func (k *keyed) match(list []tables.GatewayValueMatch, nameOf func(string) string) {
	if len(list) == 0 {
		return
	}
	fits := make(map[string]func(string) bool)
	set := make(texts)
	for _, m := range list {
		name := nameOf(m.Name)
		t := k.of(name)
		fits[name] = func(value string) bool { return value == m.Value }
		if m.Type == regularExpression {
			expression := "^(?:" + m.Value + ")$"
			compiled, err := regexp.Compile(expression)
			if err != nil {
				fits[name] = func(string) bool { return false }
				continue
			}
			t.list.Patterns = append(t.list.Patterns, expression)
			fits[name] = compiled.MatchString
		} else {
			t.list.Add(m.Value)
			set[name] = m.Value
		}
		t.tests = append(t.tests, fits[name])
	}
	k.whole = append(k.whole, set)
	k.tests = append(k.tests, func(set texts) bool {
		for name, fit := range fits {
			if value, has := set[name]; !has || !fit(value) {
				return false
			}
		}
		return true
	})
}

// sets returns one set for each result of the tests, the smallest first. If there are too
// many sets, it returns those that one match requires.
func (k *keyed) sets(p *prover) []texts {
	all := []texts{nil}
	for _, key := range k.keys {
		t := k.by[key]
		values := t.values()
		p.isCut = p.isCut || t.list.IsCut()
		for _, before := range slices.Clone(all) {
			for _, value := range values {
				with := texts{key: value}
				maps.Copy(with, before)
				all = append(all, with)
			}
		}
		if len(all) > mostSets {
			p.isCut = true
			return append([]texts{nil}, k.whole...)
		}
	}
	slices.SortStableFunc(all, func(x, y texts) int { return len(x) - len(y) })
	seen := make(map[string]bool)
	return slices.DeleteFunc(all, func(set texts) bool {
		key := elements.Map(k.tests, func(fits func(texts) bool) byte { return statement.Bit(fits(set)) })
		isKnown := seen[string(key)]
		seen[string(key)] = true
		return isKnown
	})
}

// limitedPath is a path with what limits its requests.
type limitedPath struct {
	target    string
	isLimited bool
	documents []Document
}

// proveLimited looks for a path of the class that no limit without a condition is in force
// on.
func (p *prover) proveLimited() (*proof, error) {
	before := make(map[string]bool) // the paths that the base does not limit
	if p.base != nil {
		for _, path := range p.base.limits() {
			before[path.target] = !path.isLimited
		}
	}
	for _, path := range p.limitedPaths(p.out) {
		if !path.isLimited && !before[path.target] {
			return &proof{witness: &Witness{In: inClass, Path: path.target, Requests: []WitnessRequest{}, responsible: path.documents}}, p.err
		}
	}
	return &proof{}, p.err
}

// limitedPaths returns the paths of the class, less some classes, in their order.
func (p *prover) limitedPaths(out []*assertion.Class) []limitedPath {
	reached := make(map[string]bool)
	if slices.ContainsFunc(slices.Concat(p.a.Of, out), func(c *assertion.Class) bool { return !isAboutPaths(c) }) {
		p.eachCrossing(out, func(x *crossing) bool {
			reached[x.targets[0]] = true
			return true
		})
	}
	return slices.DeleteFunc(p.all.limits(), func(path limitedPath) bool {
		listener, route, _ := strings.Cut(path.target, " > ")
		fits := func(c *assertion.Class) bool {
			return isAboutPaths(c) && fitsSection(c.Texts["gateway"], strings.TrimPrefix(listener, tables.KindGateway+"/")) && fitsSection(c.Texts["route"], route)
		}
		return !reached[path.target] && !slices.ContainsFunc(p.a.Of, fits) || slices.ContainsFunc(out, fits)
	})
}

// isAboutPaths reports whether a class has whole paths.
func isAboutPaths(c *assertion.Class) bool {
	for key := range c.Texts {
		if key != "gateway" && key != "route" {
			return false
		}
	}
	return len(c.Labels) == 0
}

// limits returns the paths of a world.
func (w *world) limits() []limitedPath {
	g := w.gateway()
	var out []limitedPath
	for _, path := range g.Paths {
		route := &g.Routes[path.Route]
		rule := &route.Rules[path.Rule]
		one := limitedPath{target: g.PathName(path)}
		one.documents = append(one.documents, Document{route.Kind, route.Namespace, route.Name, rule.Name, rule.Source})
		if e, ok := path.Effective[tables.KindRateLimitPolicy]; ok {
			one.isLimited = isLimited(g.Effective[e].Rules)
			for _, r := range g.Effective[e].Replaced {
				if strings.HasPrefix(r.Rule, limitPrefix) {
					place := (&tables.NamedRule{Policy: r.Policy, Key: r.Rule, Source: r.Source}).Place()
					one.documents = append(one.documents, Document{place.Kind, place.Namespace, place.Name, place.Rule, place.Source})
				}
			}
		}
		out = append(out, one)
	}
	return out
}

const limitPrefix = "limits."

// isLimited reports whether rules have a limit without a condition.
func isLimited(rules []tables.EffectiveRule) bool {
	has := false
	for i := range rules {
		value, _ := rules[i].Value.(map[string]any)
		when, _ := value["when"].([]any)
		switch {
		case rules[i].Key == "when":
			return false
		case strings.HasPrefix(rules[i].Key, limitPrefix):
			has = has || len(when) == 0
		}
	}
	return has
}
