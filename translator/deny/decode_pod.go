package deny

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// riskFactors are the risk factors that are not capabilities.
var riskFactors = []string{
	"hostNetwork", "hostPID", "hostIPC", "privilegedContainer", "runAsRoot", "hostPathWritable", "hostPathReadOnly",
}

// fullWeight is the end of the scale weights are meant to be on.
const fullWeight = 100

// decodePodSecurity decodes podSecurityRules.
func decodePodSecurity(d *syntax.Decoder, c *syntax.Cursor) *PodSecurity {
	p := &PodSecurity{At: d.At(c.At), Weights: make(map[string]int)}
	scope := c.Mapping("appliesTo")
	p.Subresources = decodePodSubresources(d, scope)
	scope.Done()
	const hint = "a pure block list is riskFactors: {} with thresholds: [{maxScore: 0, action: allow}]"
	if factors := c.Mapping("riskFactors"); factors != nil {
		decodeWeights(d, factors, p.Weights)
	} else if c.Value("riskFactors") == nil {
		c.Missing("riskFactors", hint)
	}
	thresholds, at := c.List("thresholds")
	switch {
	case c.Value("thresholds") == nil:
		c.Missing("thresholds", hint)
	case at != nil && len(thresholds) == 0:
		d.Warn(c.Field("thresholds").Key, diag.NoThresholds, hint, "thresholds is empty: every pod that is evaluated is denied")
	}
	p.Thresholds = decodeThresholds(d, thresholds)
	blocking, _ := c.Texts("blockFactors")
	p.BlockFactors = decodeFactors(d, blocking, "blockFactors")
	exemptions := c.Mapping("exemptions")
	p.ExemptNamespaces = decodeNamespaces(d, exemptions, "namespaces", decodeGlobs)
	p.ExemptLabels = exemptions.Labels("podLabels")
	exemptions.Done()
	if mode := c.Text("failMode"); mode != nil && d.CheckOneOf(mode, "failMode", "open", "closed") {
		p.FailOpen = mode.Value == "open"
	}
	c.Done()
	return p
}

// decodePodSubresources decodes which subresources of pods are evaluated.
func decodePodSubresources(d *syntax.Decoder, c *syntax.Cursor) []string {
	before := len(d.Diags)
	items, _ := c.Texts("subresources")
	for _, n := range items {
		switch {
		case strings.HasPrefix(n.Value, "pods/"):
			d.Fail(n, diag.BadPattern, "write "+syntax.Quote(strings.TrimPrefix(n.Value, "pods/")), "entry %s of subresources must not contain \"/\": all entries are subresources of pods", syntax.Quote(n.Value))
		case n.Value == "" || strings.ContainsAny(n.Value, "*?[]{}/"):
			d.Fail(n, diag.BadPattern, "name each one, as in [exec, attach]", "entry %s of subresources is not a subresource of pods", syntax.Quote(n.Value))
		}
	}
	if !hasErrors(d, before) {
		newSlips(d, []string{""}).subresources(items)
	}
	return syntax.Values(items)
}

// decodeWeights decodes riskFactors into weights by factor.
func decodeWeights(d *syntax.Decoder, c *syntax.Cursor, weights map[string]int) {
	for _, factor := range riskFactors {
		if weight, at := c.Integer(factor, 0, syntax.MaxInteger); at != nil {
			weights[factor] = weight
			checkWeight(d, at, factor, weight)
		}
	}
	if capabilities := c.Mapping("capabilities"); capabilities != nil {
		first := make(map[string]*syntax.Node, len(capabilities.Node.Fields))
		for _, f := range capabilities.Node.Fields {
			decodeCapabilityWeight(d, f, first, weights)
		}
	}
	c.Done()
}

// decodeCapabilityWeight decodes one entry of capabilities. first has the keys read so
// far by what they are once normalised.
func decodeCapabilityWeight(d *syntax.Decoder, f syntax.Field, first map[string]*syntax.Node, weights map[string]int) {
	name, ok := capability(f.Key.Value)
	if !ok {
		d.Fail(f.Key, diag.BadValue, "write it like NET_ADMIN", "capability %s is not the name of a Linux capability", syntax.Quote(f.Key.Value))
		return
	}
	if other := first[name]; other != nil {
		d.Fail(f.Key, diag.DuplicateField, "keep one of them; case and a leading CAP_ do not count",
			"capability %s is the same as %s", syntax.Quote(f.Key.Value), syntax.Quote(other.Value))
		return
	}
	first[name] = f.Key
	warnOfCapability(d, f.Key, name)
	if weight, ok := d.Integer(f.Value, f.Key.Value, 0, syntax.MaxInteger); ok {
		weights[capabilityPrefix+name] = weight
		checkWeight(d, f.Value, f.Key.Value, weight)
	}
}

// checkWeight warns of a weight beyond the scale.
func checkWeight(d *syntax.Decoder, n *syntax.Node, name string, weight int) {
	if weight > fullWeight {
		d.Warn(n, diag.LargeWeight, "", "weight %d of %s is above %d, the end of the scale", weight, name, fullWeight)
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

// decodeFactors decodes the entries of a list of factors, capabilities normalised.
func decodeFactors(d *syntax.Decoder, items []*syntax.Node, name string) []string {
	var out []string
	for _, n := range items {
		if factor, ok := normalFactor(n.Value); ok {
			out = append(out, factor)
			if name, isCapability := strings.CutPrefix(factor, capabilityPrefix); isCapability {
				warnOfCapability(d, n, name)
			}
			continue
		}
		d.Fail(n, diag.BadValue, factorHint(n.Value), "factor %s of %s is not known", syntax.Quote(n.Value), name)
	}
	return out
}

// normalFactor returns a risk factor as the tables have it, with the common name of a
// capability. It returns false for an unknown factor.
func normalFactor(value string) (factor string, ok bool) {
	if name, found := strings.CutPrefix(value, capabilityPrefix); found {
		normal, ok := capability(name)
		return capabilityPrefix + normal, ok
	}
	return value, slices.Contains(riskFactors, value)
}

// factorHint is what to type instead of an unknown factor.
func factorHint(value string) string {
	nicknames := map[string]string{
		"privileged": "privilegedContainer", "root": "runAsRoot", "hostpath": "hostPathWritable",
	}
	if near := cmp.Or(nicknames[syntax.Fold(value)], diag.Suggest(value, riskFactors)); near != "" {
		return "did you mean " + syntax.Quote(near) + "?"
	}
	if name, ok := capability(value); ok && name != "CAPABILITY" && name != "CAPABILITIES" {
		return "one of " + strings.Join(riskFactors, ", ") + "; a capability is written " + syntax.Quote(capabilityPrefix+name)
	}
	return "one of " + strings.Join(riskFactors, ", ") + ", capability:NAME"
}

// decodeThresholds decodes thresholds, whose scores must rise.
func decodeThresholds(d *syntax.Decoder, items []*syntax.Node) []tables.Threshold {
	var out []tables.Threshold
	last := -1
	for _, n := range items {
		var t tables.Threshold
		c := d.Cursor(n, "a threshold", false)
		if c == nil {
			continue
		}
		score, at := c.Integer("maxScore", 0, syntax.MaxInteger)
		switch {
		case at == nil && c.Value("maxScore") == nil:
			c.Missing("maxScore", "")
		case at != nil && score <= last:
			d.Fail(at, diag.UnreachableThreshold, "", "maxScore %d is not above %d, that of the threshold before: no score gets here", score, last)
		case at != nil:
			last = score
		}
		t.MaxScore = score
		if action := c.Text("action"); action != nil && d.CheckOneOf(action, "action", "allow", "warn", "deny") {
			t.Action = action.Value
		} else if c.Value("action") == nil {
			c.Missing("action", "write allow, warn or deny")
		}
		if reason := c.Text("reason"); reason != nil {
			t.Reason = decodeTemplate(d, reason)
		}
		c.Done()
		out = append(out, t)
	}
	return out
}
