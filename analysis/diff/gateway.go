package diff

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// maxProbes bounds the requests that are tried for one path.
const maxProbes = 4000

// gateway compares the effective policies of each path. found are the classes of the same
// time; after the first time, only paths that ask the point access may differ anew.
func (c *comparison) gateway(found []*class, isFirst bool) error {
	accessChanged := slices.ContainsFunc(found, func(k *class) bool { return k.point == statement.PointAccess })
	a, b := pathsOf(c.a.World), pathsOf(c.b.World)
	documentsA, documentsB := c.routed()
	rank(a, b)
	constants := tables.Entries(slices.Concat(gatewayConstants(c.a.World), gatewayConstants(c.b.World)))
	names := tables.Entries(slices.Concat(gatewayNames(c.a.World), gatewayNames(c.b.World)))
	for _, path := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))) {
		x, y := a[path], b[path]
		rules, causes := differentRules(x, y), placeCauses(x, y, documentsA, documentsB)
		reviews := accessChanged && (x != nil && x.reviews || y != nil && y.reviews)
		if !reviews && (len(rules)+len(causes) == 0 || !isFirst) {
			continue
		}
		k := &class{point: statement.PointGateway, why: []string{statement.WhyGateway}, paths: []string{path}, rules: rules}
		k.causes = append(causes, causesOf(rules, x, y, documentsA, documentsB)...)
		c.tryPath(k, x, y, names, constants)
		k.changes = []string{changeGain, changeLoss, changeTighten, changeRelax, changeOther}
		if err := c.add(k); err != nil {
			return err
		}
	}
	return nil
}

// differentRules returns the keys of the rules that differ, of a path that both revisions
// have.
func differentRules(x, y *pathState) []string {
	if x == nil || y == nil {
		return nil
	}
	var out []string
	for _, key := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(x.rules)), slices.Collect(maps.Keys(y.rules)))) {
		if textOf(x.rules[key]) != textOf(y.rules[key]) {
			out = append(out, key)
		}
	}
	return out
}

// textOf returns what a rule states, empty for nil.
func textOf(r *tables.EffectiveRule) string {
	if r == nil {
		return ""
	}
	return statement.JSONText(r.Value)
}

// tryPath records the transitions of the requests of a path.
func (c *comparison) tryPath(k *class, x, y *pathState, names, constants []string) {
	var bases []map[string]any
	for _, p := range []*pathState{x, y} {
		if p != nil {
			bases = append(bases, p.requests...)
		}
	}
	tried := 0
	for _, base := range bases {
		for _, object := range gatewayVariants(base, names, constants) {
			if tried++; tried > maxProbes {
				return
			}
			a, b, err := c.judges.both(c.ctx, statement.PointGateway, object)
			if err != nil || a.Outcome == b.Outcome || a.Target != k.paths[0] && b.Target != k.paths[0] {
				continue
			}
			k.record(object, a, b)
		}
	}
}

// gatewayVariants returns a request without identity, one for each constant that is a path, and with
// each constant as the value of each name that conditions read, in the identity and in headers.
func gatewayVariants(base map[string]any, names, constants []string) []map[string]any {
	other := map[string]any{"identity": map[string]any{"sub": statement.OtherWord}}
	out := []map[string]any{base, statement.With(base, "auth", other)}
	for _, value := range constants {
		if strings.HasPrefix(value, "/") {
			request, _ := base["request"].(map[string]any)
			there := statement.With(base, "request", statement.With(request, "path", value))
			out = append(out, there, statement.With(there, "auth", other))
		}
	}
	for _, name := range append(names, "sub") {
		for _, value := range append(slices.Clone(constants), statement.OtherWord) {
			out = append(out,
				statement.With(base, "auth", map[string]any{"identity": map[string]any{name: value}}),
				statement.With(base, "auth", map[string]any{"identity": map[string]any{name: []string{value}}}))
			request, _ := base["request"].(map[string]any)
			headers := maps.Clone(request["headers"].(map[string]any))
			headers[strings.ToLower(name)] = value
			changed := statement.With(base, "request", statement.With(request, "headers", headers))
			out = append(out, changed, statement.With(changed, "auth", other))
		}
	}
	for _, value := range constants {
		out = append(out, statement.With(base, "auth", map[string]any{"identity": map[string]any{"sub": value, "groups": []string{value}}}))
	}
	return out
}

var (
	readNames     = regexp.MustCompile(`(?:auth\.identity|headers)(?:\.|\[['"])([\w-]+)`)
	quotedValues  = regexp.MustCompile(`['"]([^'"\\]{1,64})['"]`)
	globbedSuffix = "*."
)

func gatewayNames(w *statement.World) []string {
	return statement.Submatches(readNames, strings.Join(gatewayTexts(w), "\n"))
}

// gatewayConstants returns the values that conditions compare with.
func gatewayConstants(w *statement.World) []string {
	var out []string
	for _, text := range gatewayTexts(w) {
		if out = append(out, statement.Submatches(quotedValues, text)...); len(out) > 64 {
			break
		}
	}
	return out[:min(len(out), 64)]
}

func gatewayTexts(w *statement.World) []string {
	g := tables.Of[*tables.Gateway](w.Revision.Tables)
	if g == nil {
		return nil
	}
	var out []string
	for i := range g.Effective {
		if g.Effective[i].Kind != tables.KindAuthPolicy {
			continue
		}
		for _, r := range g.Effective[i].Rules {
			tables.EachText(r.Value, func(text string) { out = append(out, text, `"`+text+`"`) }) // also as a quoted constant
		}
	}
	return out
}
