package decisiontest

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// members are the keys of an object in a decision, with the members of their values: of an
// object, or of each object in a list. Nil stands for any members.
type members map[string]members

// one is a value without members.
var one = members{}

var refusal = members{"code": one, "message": one}

// via names the session of a match.
var via = members{"kind": one, "namespace": one, "name": one, "until": one}

// decisions are the members of decisions by their point. A point that is missing here has
// decisions with any members.
var decisions = map[string]members{
	"access": {
		"allowed": one, "denied": one, "reason": one, "warnings": one, "impliedGroups": one, "error": refusal,
		"podSecurity": {"policy": one, "action": one, "score": one, "factors": one},
		"matched": {
			"kind": one, "namespace": one, "name": one, "rule": one, "source": one, "effect": one, "apiVersion": one,
			"role": {"kind": one, "namespace": one, "name": one}, "binding": {"source": one}, "until": one, "via": via, "selector": one,
		},
	},
	"visibility": {
		"decision": one, "permissions": one, "policy": one, "reason": one, "filters": nil, "visible": one,
		"aggregations": nil, "metrics": nil, "error": refusal,
		"matched": {
			"kind": one, "namespace": one, "name": one, "rule": one, "source": one, "until": one,
			"via": via, "selector": one,
		},
	},
	"gateway": {
		"allowed": one, "denied": one, "status": one, "reason": one, "warnings": one, "target": {"gateway": one, "route": one},
		"matched":   {"kind": one, "namespace": one, "name": one, "rule": one, "source": one},
		"decidedBy": {"kind": one, "namespace": one, "name": one, "rule": one, "source": one},
		"policies":  one, "rules": nil, "response": {"code": one, "message": one, "headers": nil, "body": one},
		"headers": nil, "metadata": nil, "error": refusal,
	},
}

// partOf is the key of a list of which an expectation states a part.
const partOf = "contains"

// checkExpected reports the keys of an expectation that no decision has: it would hold for
// each decision, or for none.
func checkExpected(c *syntax.Cursor, what string, n *syntax.Node, known members) {
	if n.Type == syntax.List {
		for _, item := range n.Items {
			checkExpected(c, what, item, known)
		}
	}
	for _, f := range n.Fields {
		key := f.Key.Value
		of, found := known[key]
		base, isSearched := strings.CutSuffix(key, "Contains")
		if _, isKnown := known[base]; isKnown && isSearched && !found {
			checkSearched(c, key, f.Value)
			continue
		}
		switch {
		case known == nil:
		case !found:
			hint := ""
			if near := diag.Suggest(base, slices.Sorted(maps.Keys(known))); near != "" {
				hint = "did you mean " + syntax.Quote(near+key[len(base):]) + "?"
			}
			c.Fail(f.Key, diag.BadValue, hint, "%s has no key %s", what, syntax.Quote(key))
		case len(f.Value.Fields) == 1 && f.Value.Fields[0].Key.Value == partOf:
			part := f.Value.Fields[0].Value
			if part.Type != syntax.List {
				c.Fail(part, diag.WrongType, "", "%s of %s must be a list, not %s", partOf, key, syntax.Describe(part))
				continue
			}
			if len(part.Items) == 0 {
				c.Fail(part, diag.Missing, "name an element, or write "+key+": [] for none", "%s of %s is empty: every list contains it", partOf, key)
			}
			checkExpected(c, key, part, of)
		case of == nil || len(of) > 0:
			checkExpected(c, key, f.Value, of)
		}
	}
}

// checkSearched reports what cannot be searched for, and texts that every text contains.
func checkSearched(c *syntax.Cursor, key string, n *syntax.Node) {
	texts := []*syntax.Node{n}
	if n.Type == syntax.List {
		texts = n.Items
	}
	if len(texts) == 0 {
		c.Fail(n, diag.Missing, "name a text, or remove the key", "%s is empty: it holds for every decision", key)
	}
	for _, text := range texts {
		switch {
		case text.IsNull() || text.Type == syntax.List || text.Type == syntax.Mapping:
			c.Fail(text, diag.WrongType, "write a text or a list of texts", "%s must be a text, not %s", key, syntax.Describe(text))
		case text.Value == "":
			c.Fail(text, diag.BadValue, "name a text, or remove the key", "%s is empty: it holds for every decision", key)
		}
	}
}
