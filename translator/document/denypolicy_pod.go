package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// riskFactors are the factors but for capabilities, which are many.
var riskFactors = []string{
	"hostNetwork", "hostPID", "hostIPC", "privilegedContainer", "runAsRoot", "hostPathWritable", "hostPathReadOnly",
}

const (
	capabilityPrefix = "capability:"
	// fullWeight is the end of the scale weights are meant to be on.
	fullWeight = 100
)

// podSecurity decodes podSecurityRules.
func (d *decoder) podSecurity(c *cursor) *PodSecurity {
	p := &PodSecurity{At: d.at(c.at), Weights: make(map[string]int)}
	scope := c.mapping("appliesTo")
	p.Subresources = d.podSubresources(scope)
	scope.done()
	const hint = "a pure block list is riskFactors: {} with thresholds: [{maxScore: 0, action: allow}]"
	if factors := c.mapping("riskFactors"); factors != nil {
		d.weights(factors, p.Weights)
	} else if c.value("riskFactors") == nil {
		c.missing("riskFactors", hint)
	}
	thresholds, at := c.list("thresholds")
	switch {
	case c.value("thresholds") == nil:
		c.missing("thresholds", hint)
	case at != nil && len(thresholds) == 0:
		d.warn(c.field("thresholds").key, diag.NoThresholds, hint, "thresholds is empty: every pod that is evaluated is denied")
	}
	p.Thresholds = d.thresholds(thresholds)
	blocking, _ := c.texts("blockFactors")
	p.BlockFactors = d.factors(blocking, "blockFactors")
	exemptions := c.mapping("exemptions")
	p.ExemptNamespaces = d.namespaces(exemptions, "namespaces", (*decoder).globs)
	p.ExemptLabels = exemptions.labels("podLabels")
	exemptions.done()
	if mode := c.text("failMode"); mode != nil && d.oneOf(mode, "failMode", "open", "closed") {
		p.FailOpen = mode.value == "open"
	}
	c.done()
	return p
}

// podSubresources decodes which subresources of pods are evaluated.
func (d *decoder) podSubresources(c *cursor) []string {
	items, _ := c.texts("subresources")
	for _, n := range items {
		switch {
		case strings.HasPrefix(n.value, "pods/"):
			d.fail(n, diag.BadPattern, "write "+quote(strings.TrimPrefix(n.value, "pods/")), "entry %s of subresources has a \"/\": it is about pods anyway", quote(n.value))
		case n.value == "" || strings.ContainsAny(n.value, "*?[]{}/"):
			d.fail(n, diag.BadPattern, "name each one, as in [exec, attach]", "entry %s of subresources is no subresource of pods", quote(n.value))
		}
	}
	return values(items)
}

// weights decodes riskFactors into weights by factor.
func (d *decoder) weights(c *cursor, weights map[string]int) {
	for _, factor := range riskFactors {
		if weight, at := c.integer(factor, 0, maxInteger); at != nil {
			weights[factor] = weight
			d.heavy(at, factor, weight)
		}
	}
	if capabilities := c.mapping("capabilities"); capabilities != nil {
		first := make(map[string]*node, len(capabilities.n.fields))
		for _, f := range capabilities.n.fields {
			d.capabilityWeight(f, first, weights)
		}
	}
	c.done()
}

// capabilityWeight decodes one entry of capabilities. first has the keys read so
// far by what they are once normalised.
func (d *decoder) capabilityWeight(f field, first map[string]*node, weights map[string]int) {
	name, ok := capability(f.key.value)
	if !ok {
		d.fail(f.key, diag.BadValue, "write it like NET_ADMIN", "capability %s is no name of one", quote(f.key.value))
		return
	}
	if other := first[name]; other != nil {
		d.fail(f.key, diag.DuplicateField, "keep one of them; case and a leading CAP_ do not count",
			"capability %s is the same as %s", quote(f.key.value), quote(other.value))
		return
	}
	first[name] = f.key
	if weight, ok := d.integer(f.value, f.key.value, 0, maxInteger); ok {
		weights[capabilityPrefix+name] = weight
		d.heavy(f.value, f.key.value, weight)
	}
}

// heavy warns of a weight beyond the scale.
func (d *decoder) heavy(n *node, name string, weight int) {
	if weight > fullWeight {
		d.warn(n, diag.LargeWeight, "", "weight %d of %s is above %d, the end of the scale", weight, name, fullWeight)
	}
}

var capabilityForm = regexp.MustCompile(`^[A-Z0-9_]+$`)

// capability normalises the name of a capability: in upper case, without one
// leading CAP_. Only ASCII has a case here, as in the kernel's names.
func capability(name string) (normal string, ok bool) {
	upper := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, name)
	normal = strings.TrimPrefix(upper, "CAP_")
	return normal, capabilityForm.MatchString(normal)
}

// factors decodes the entries of a list of factors, capabilities normalised.
func (d *decoder) factors(items []*node, name string) []string {
	var out []string
	for _, n := range items {
		if factor, ok := normalFactor(n.value); ok {
			out = append(out, factor)
			continue
		}
		d.fail(n, diag.BadValue, factorHint(n.value), "factor %s of %s is not known", quote(n.value), name)
	}
	return out
}

func normalFactor(value string) (factor string, ok bool) {
	if name, found := strings.CutPrefix(value, capabilityPrefix); found {
		normal, ok := capability(name)
		return capabilityPrefix + normal, ok
	}
	return value, slices.Contains(riskFactors, value)
}

// factorHint says what to type instead of what is no factor.
func factorHint(value string) string {
	nicknames := map[string]string{
		"privileged": "privilegedContainer", "root": "runAsRoot", "hostpath": "hostPathWritable",
	}
	near := nicknames[fold(value)]
	if near == "" {
		near = diag.Suggest(value, riskFactors)
	}
	if near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if name, ok := capability(value); ok && name != "CAPABILITY" && name != "CAPABILITIES" {
		return "one of " + strings.Join(riskFactors, ", ") + "; a capability is written " + quote(capabilityPrefix+name)
	}
	return "one of " + strings.Join(riskFactors, ", ") + ", capability:NAME"
}

// thresholds decodes thresholds, whose scores must rise.
func (d *decoder) thresholds(items []*node) []Threshold {
	var out []Threshold
	last := -1
	for _, n := range items {
		t := Threshold{At: d.at(n)}
		c := d.cursor(n, "a threshold", false)
		if c == nil {
			continue
		}
		score, at := c.integer("maxScore", 0, maxInteger)
		switch {
		case at == nil && c.value("maxScore") == nil:
			c.missing("maxScore", "")
		case at != nil && score <= last:
			d.fail(at, diag.UnreachableThreshold, "", "maxScore %d is not above %d, that of the threshold before: no score gets here", score, last)
		case at != nil:
			last = score
		}
		t.MaxScore = score
		if action := c.text("action"); action != nil && d.oneOf(action, "action", "allow", "warn", "deny") {
			t.Action = action.value
		} else if c.value("action") == nil {
			c.missing("action", "write allow, warn or deny")
		}
		if reason := c.text("reason"); reason != nil {
			t.Reason = d.template(reason)
		}
		c.done()
		out = append(out, t)
	}
	return out
}
