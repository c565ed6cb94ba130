package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// decodeMatchesNothing warns of a rule that no request can match: a list without an
// entry that counts, or streaming subresources without the verbs they carry.
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
			"no verb here is carried by the subresources in resourceKinds: the rule matches nothing")
	}
}

// wider maps a verb to the verb that its requests carry as well: negating the wider verb
// negates the narrower one.
var wider = map[string]string{"patch": "update", "deletecollection": "delete"}

// isExcludedVerb reports whether the negations leave nothing of a positive verb.
func isExcludedVerb(verb string, negative []string) bool {
	return slices.ContainsFunc(negative, func(n string) bool {
		return n == "*" || n == verb || n == wider[verb]
	})
}

// isExcludedKind reports whether the negations leave nothing of a positive kind.
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
		return other == "*" || sameKind(name, other)
	})
}

// streams are the subresources whose requests carry one verb only, whatever
// verb they have.
var streams = map[string]string{"exec": "exec", "attach": "exec", "proxy": "proxy", "portforward": "proxy"}

// isUnreachableStream reports whether a kind entry names a streaming subresource whose
// verb the rule lacks.
func isUnreachableStream(kind string, r *OriginRule) bool {
	_, sub, _ := strings.Cut(kind, "/")
	verb, streaming := streams[sub]
	if !streaming || slices.Contains(r.NotVerbs, verb) {
		return streaming
	}
	return !slices.Contains(r.Verbs, "*") && !slices.Contains(r.Verbs, verb)
}
