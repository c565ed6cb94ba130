package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

var (
	verbForm = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	kindForm = regexp.MustCompile(`^(\*|[a-z][a-z0-9-]*)(/[a-z][a-z0-9-]*)?$`)
)

// knownVerbs are Origin's own verbs and those of Kubernetes: the others are
// accepted with a warning.
var knownVerbs = []string{
	"exec", "watch", "list", "get", "create", "update", "delete", "proxy", "permission-request",
	"patch", "deletecollection", "impersonate", "bind", "escalate", "approve", "sign", "attest",
	"use", "redirect",
}

// originRule decodes a rule. Entries come out in lower case; what it cannot
// read is left out and reported.
func (d *decoder) originRule(n *node, flat bool) OriginRule {
	r := OriginRule{At: d.at(n)}
	c := d.cursor(n, "a rule", flat)
	if c == nil {
		return r
	}
	c.hints = originHints
	r.Deny, _ = c.boolean("deny", flat)
	before := len(d.diags)
	verbs, verbsAt := c.requiredTexts("verbs")
	r.Verbs, r.NotVerbs = d.entries(verbs, "verbs", (*decoder).checkVerb)
	kinds, kindsAt := c.requiredTexts("resourceKinds")
	r.Kinds, r.NotKinds = d.entries(kinds, "resourceKinds", (*decoder).checkKind)
	if !slices.ContainsFunc(d.diags[before:], func(g diag.Diagnostic) bool { return g.Severity == diag.Error }) {
		d.matchesNothing(&r, verbsAt, kindsAt)
	}
	if f := c.field("attributeRestrictions"); f != nil {
		r.Restrictions = d.restrictions(f)
	}
	c.done()
	return r
}

// entries splits a list into its positive and its negative entries.
func (d *decoder) entries(items []*node, name string, check func(d *decoder, entry string, n *node) string) (positive, negative []string) {
	for _, n := range items {
		entry := fold(n.value)
		negated := strings.HasPrefix(entry, "-")
		entry = strings.TrimPrefix(entry, "-")
		if entry != "*" {
			if problem := check(d, entry, n); problem != "" {
				d.fail(n, diag.BadPattern, patternHint(entry), "entry %s of %s %s", quote(n.value), name, problem)
				continue
			}
		}
		if negated {
			negative = append(negative, entry)
		} else {
			positive = append(positive, entry)
		}
	}
	return positive, negative
}

// patternHint says what to type instead of a malformed entry.
func patternHint(entry string) string {
	switch {
	case strings.HasPrefix(entry, "-"):
		return "one \"-\" negates"
	case strings.HasSuffix(entry, "/*") && strings.Count(entry, "/") == 1 && kindForm.MatchString(strings.TrimSuffix(entry, "/*")):
		return "write " + quote(strings.TrimSuffix(entry, "/*")) + ": it covers its subresources"
	case strings.Contains(entry, "."):
		kind, _, _ := strings.Cut(entry, ".")
		if kindForm.MatchString(kind) {
			return "write " + quote(kind) + ": it fits every API group"
		}
	case strings.ContainsAny(entry, "*?"):
		return `name each one: "*" stands alone`
	}
	return ""
}

// checkVerb says what is wrong with a verb, and warns of one nobody knows.
func (d *decoder) checkVerb(verb string, n *node) string {
	if problem := malformed(verb); problem != "" {
		return problem
	}
	if !verbForm.MatchString(verb) {
		return "is no verb: letters, digits and \"-\", a letter first"
	}
	if !slices.Contains(knownVerbs, verb) {
		hint := "a verb of your own stays as it is"
		if near := diag.Suggest(verb, knownVerbs); near != "" {
			hint = "did you mean " + quote(near) + "? a verb of your own stays as it is"
		}
		d.warn(n, diag.UnknownVerb, hint, "neither Origin nor Kubernetes knows the verb %s", quote(verb))
	}
	return ""
}

// checkKind says what is wrong with a kind entry.
func (d *decoder) checkKind(kind string, _ *node) string {
	if _, sub, _ := strings.Cut(kind, "/"); sub == "*" {
		return "has \"*\" as a subresource"
	}
	if strings.HasPrefix(kind, "*/") && kindForm.MatchString(kind) {
		return ""
	}
	if problem := malformed(kind); problem != "" {
		return problem
	}
	if !kindForm.MatchString(kind) {
		return "is no kind: KIND, KIND/SUBRESOURCE, */SUBRESOURCE or *"
	}
	return ""
}

// malformed says what no entry may be, of any list.
func malformed(entry string) string {
	switch {
	case entry == "":
		return "is empty"
	case strings.HasPrefix(entry, "-"):
		return "is negated twice"
	case strings.ContainsAny(entry, " \t\n\r"):
		return "has a blank"
	case strings.ContainsAny(entry, "*?"):
		return "has a wildcard inside"
	case strings.Contains(entry, "."):
		return "has a dot"
	}
	return ""
}
