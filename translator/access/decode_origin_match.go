package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
)

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
