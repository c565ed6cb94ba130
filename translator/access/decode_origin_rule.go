package access

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/vocabulary"
)

var (
	verbForm = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	kindForm = regexp.MustCompile(`^(\*|[a-z][a-z0-9-]*)(/[a-z][a-z0-9-]*)?$`)
)

// decodeOriginRule decodes a rule with its entries in lower case. It reports invalid
// entries and leaves them out.
func decodeOriginRule(d *syntax.Decoder, n *syntax.Node, flat bool) OriginRule {
	r := OriginRule{At: d.At(n)}
	c := d.Cursor(n, "a rule", flat)
	if c == nil {
		return r
	}
	c.Hints = originHints
	r.Deny, _ = c.Boolean("deny", flat)
	before := len(d.Diags)
	verbs, verbsAt := c.RequiredTexts("verbs")
	r.Verbs, r.NotVerbs = decodeEntries(d, verbs, "verbs", checkVerb)
	kinds, kindsAt := c.RequiredTexts("resourceKinds")
	r.Kinds, r.NotKinds = decodeEntries(d, kinds, "resourceKinds", checkKind)
	if !slices.ContainsFunc(d.Diags[before:], func(g diag.Diagnostic) bool { return g.Severity == diag.Error }) {
		decodeMatchesNothing(d, &r, verbsAt, kindsAt)
	}
	if f := c.Field("attributeRestrictions"); f != nil {
		r.Restrictions = decodeRestrictions(d, f)
	}
	c.Done()
	return r
}

// checkEntry returns the problem of an entry without its minus sign, "" if it is valid.
type checkEntry func(d *syntax.Decoder, entry string, n *syntax.Node) string

// decodeEntries splits a list into its positive and its negative entries.
func decodeEntries(d *syntax.Decoder, items []*syntax.Node, name string, check checkEntry) (positive, negative []string) {
	for _, n := range items {
		entry := syntax.Fold(n.Value)
		negated := strings.HasPrefix(entry, "-")
		entry = strings.TrimPrefix(entry, "-")
		if entry != "*" {
			if problem := check(d, entry, n); problem != "" {
				d.Fail(n, diag.BadPattern, patternHint(entry), "entry %s of %s %s", syntax.Quote(n.Value), name, problem)
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

// patternHint returns what to write instead of a malformed entry, or "".
func patternHint(entry string) string {
	switch {
	case strings.HasPrefix(entry, "-"):
		return "one \"-\" negates"
	case strings.HasSuffix(entry, "/*") && strings.Count(entry, "/") == 1 && kindForm.MatchString(strings.TrimSuffix(entry, "/*")):
		return "write " + syntax.Quote(strings.TrimSuffix(entry, "/*")) + ": it covers its subresources"
	case strings.Contains(entry, "."):
		kind, _, _ := strings.Cut(entry, ".")
		if kindForm.MatchString(kind) {
			return "write " + syntax.Quote(kind) + ": it fits every API group"
		}
	case strings.ContainsAny(entry, "*?"):
		return `name each one: "*" stands alone`
	}
	return ""
}

// checkVerb returns the problem of a verb, "" if it is valid, and warns about an unknown
// verb.
func checkVerb(d *syntax.Decoder, verb string, n *syntax.Node) string {
	d.Examples(n, vocabulary.AnyVerbs)
	if problem := malformed(verb); problem != "" {
		return problem
	}
	if !verbForm.MatchString(verb) {
		return "is not a verb: letters, digits and \"-\", a letter first"
	}
	if !slices.Contains(vocabulary.AnyVerbs, verb) {
		hint := "a verb of your own stays as it is"
		if near := diag.Suggest(verb, vocabulary.AnyVerbs); near != "" {
			hint = "did you mean " + syntax.Quote(near) + "? a verb of your own stays as it is"
		}
		d.Warn(n, diag.UnknownVerb, hint, "neither Origin nor Kubernetes knows the verb %s", syntax.Quote(verb))
	}
	return ""
}

// checkKind returns the problem of a kind entry, "" if it is valid, and warns about a kind
// or subresource that is spelt almost like a known one.
func checkKind(d *syntax.Decoder, kind string, n *syntax.Node) string {
	if _, sub, _ := strings.Cut(kind, "/"); sub == "*" {
		return "has \"*\" as a subresource"
	}
	if strings.HasPrefix(kind, "*/") && kindForm.MatchString(kind) {
		warnOfKind(d, kind, n)
		return ""
	}
	if problem := malformed(kind); problem != "" {
		return problem
	}
	if !kindForm.MatchString(kind) {
		return "is not a kind: KIND, KIND/SUBRESOURCE, */SUBRESOURCE or *"
	}
	warnOfKind(d, kind, n)
	return ""
}

// warnOfKind warns about a kind and a subresource that are spelt almost like known ones.
func warnOfKind(d *syntax.Decoder, entry string, n *syntax.Node) {
	kind, sub, _ := strings.Cut(entry, "/")
	if near := vocabulary.NearKind(kind); kind != "*" && near != "" {
		d.Warn(n, diag.UnknownResource, "did you mean "+syntax.Quote(near)+"? a kind of your own stays as it is",
			"neither Origin nor Kubernetes has the kind %s", syntax.Quote(kind))
	}
	if sub == "" || vocabulary.IsSubresource(sub) {
		return
	}
	if near := vocabulary.NearSubresource(sub); near != "" {
		d.Warn(n, diag.UnknownResource, "did you mean "+syntax.Quote(near)+"? a subresource of your own stays as it is",
			"neither Origin nor Kubernetes has the subresource %s", syntax.Quote(sub))
	}
}

// malformed returns the problem of an entry in the syntax that all lists share, or "".
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

// decodeMatchesNothing warns about a rule that no request can match: a list without an
// effective entry, or streaming subresources without their verbs.
func decodeMatchesNothing(d *syntax.Decoder, r *OriginRule, verbsAt, kindsAt *syntax.Node) {
	live := func(kind string) bool { return !isExcludedKind(kind, r.NotKinds) }
	switch {
	case len(r.Verbs) == 0:
		d.Warn(verbsAt, diag.MatchesNothing, `add "*" to mean everything else`, "verbs has nothing positive: the rule matches nothing")
	case len(r.Kinds) == 0:
		d.Warn(kindsAt, diag.MatchesNothing, `add "*" to mean everything else`, "resourceKinds has nothing positive: the rule matches nothing")
	case !slices.ContainsFunc(r.Verbs, func(v string) bool { return !isExcludedVerb(v, r.NotVerbs) }):
		d.Warn(verbsAt, diag.MatchesNothing, "", "verbs negates all that it names: the rule matches nothing")
	case !slices.ContainsFunc(r.Kinds, live):
		d.Warn(kindsAt, diag.MatchesNothing, "", "resourceKinds negates all that it names: the rule matches nothing")
	case !slices.ContainsFunc(r.Kinds, func(k string) bool { return live(k) && !isUnreachableStream(k, r) }):
		d.Warn(verbsAt, diag.MatchesNothing, `streaming subresources are covered by "exec" (exec, attach) and "proxy" (proxy, portforward)`,
			"no verb applies to the subresources in resourceKinds: the rule matches nothing")
	}
}

// isExcludedVerb reports whether the negative entries exclude a positive verb entirely: negating
// a wider verb negates the narrower one.
func isExcludedVerb(verb string, negative []string) bool {
	return slices.ContainsFunc(negative, func(n string) bool {
		return n == "*" || n == verb || n == rule.Wider(verb)
	})
}

// isExcludedKind reports whether the negative entries exclude a positive kind entirely.
func isExcludedKind(kind string, negative []string) bool {
	name, sub, _ := strings.Cut(kind, "/")
	return slices.ContainsFunc(negative, func(n string) bool {
		if n == "*" {
			return true
		}
		other, otherSub, narrow := strings.Cut(n, "/")
		if narrow && otherSub != sub {
			return false
		}
		return other == "*" || rule.SameKind(name, other)
	})
}

// isUnreachableStream reports whether a kind entry names a streaming subresource whose
// verb the rule does not have.
func isUnreachableStream(kind string, r *OriginRule) bool {
	_, sub, _ := strings.Cut(kind, "/")
	verb := rule.Carried("", sub)[0]
	if verb == "" || slices.Contains(r.NotVerbs, verb) {
		return verb != ""
	}
	return !slices.Contains(r.Verbs, "*") && !slices.Contains(r.Verbs, verb)
}
