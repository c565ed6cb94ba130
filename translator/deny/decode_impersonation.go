package deny

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// longestReason is the number of characters that the reason of an impersonation rule may
// have.
const longestReason = 512

// identityResources are the resources about which the API server asks whether a caller
// may take an identity.
var identityResources = []string{"users", "groups", "uids", "userextras", "serviceaccounts", "nodes"}

// decodeImpersonationRule decodes one of impersonationRules.
func decodeImpersonationRule(d *syntax.Decoder, n *syntax.Node) ImpersonationRule {
	r := ImpersonationRule{At: d.At(n)}
	c := d.Cursor(n, "an impersonation rule", false)
	if c == nil {
		return r
	}
	c.Hints = map[string]string{
		"verbs": "write modes, or actionVerbs for what is done while impersonating", "resources": "write identityResources or targetResources",
		"resourcenames": "write identities", "apigroups": "write targetAPIGroups",
	}
	r.Modes = decodeClosed(d, c, "modes", modes)
	r.IdentityResources = decodeClosed(d, c, "identityResources", identityResources)
	r.Identities = decodeGlobList(d, c, "identities")
	r.ExtraKeys = decodeGlobList(d, c, "extraKeys")
	r.Namespaces = decodeNamespaces(d, c, "namespaces", decodeGlobs)
	before := len(d.Diags)
	r.ActionVerbs = decodeWords(d, c, "actionVerbs", actionWord)
	r.TargetResources = decodeWords(d, c, "targetResources", targetWord)
	r.TargetAPIGroups = decodeWords(d, c, "targetAPIGroups", anyWord)
	if !hasErrors(d, before) {
		warnOfTargets(d, c)
	}
	if reason := c.Text("reason"); reason != nil {
		if r.Reason = reason.Value; utf8.RuneCountInString(r.Reason) > longestReason {
			d.Fail(reason, diag.BadValue, "", "reason must have at most %d characters", longestReason)
		}
	}
	checkCombination(c, &r)
	warnOfImpersonation(d, c, &r)
	c.Done()
	return r
}

// warnOfTargets warns about words that no action has.
func warnOfTargets(d *syntax.Decoder, c *syntax.Cursor) {
	verbs, _ := c.Texts("actionVerbs")
	resources, _ := c.Texts("targetResources")
	groups, _ := c.Texts("targetAPIGroups")
	in := syntax.Values(groups)
	if len(in) == 0 {
		in = []string{"*"}
	}
	checked := newSlips(d, in)
	checked.verbs(verbs)
	checked.apiGroups(groups)
	checked.resources(resources)
}

// decodeClosed decodes an optional list of known values.
func decodeClosed(d *syntax.Decoder, c *syntax.Cursor, name string, known []string) []string {
	items, _ := c.Texts(name)
	for _, n := range items {
		d.CheckOneOf(n, "entry of "+name, known...)
	}
	return syntax.Values(items)
}

// decodeWords decodes an optional word list.
func decodeWords(d *syntax.Decoder, c *syntax.Cursor, name string, problem func(entry string) (problem, hint string)) []string {
	items, _ := c.Texts(name)
	checkWords(d, items, name, problem)
	return syntax.Values(items)
}

// actionWord is what is wrong with the verb of an action: no verb of impersonation has
// one with a colon.
func actionWord(entry string) (problem, hint string) {
	if _, verb, found := strings.Cut(entry, ":"); found {
		return "has a colon", "write the verb alone: " + syntax.Quote(verb[strings.LastIndexByte(verb, ':')+1:])
	}
	return word(entry)
}

// targetWord is resourceWord for the target of an action, which may be a path, whose
// resource is empty.
func targetWord(entry string) (problem, hint string) {
	if entry == "" {
		return "", ""
	}
	return resourceWord(entry)
}

// checkCombination reports fields that no request fits together.
func checkCombination(c *syntax.Cursor, r *ImpersonationRule) {
	if len(r.ActionVerbs) == 0 {
		for _, name := range []string{"targetResources", "targetAPIGroups"} {
			if n := c.Value(name); n != nil && len(n.Items) > 0 {
				c.Fail(c.Field(name).Key, diag.Missing, `add actionVerbs: ["*"] to deny every verb on them`,
					"%s needs actionVerbs: only actions have a target", name)
			}
		}
		return
	}
	if len(r.Identities) > 0 {
		later := c.Field("identities").Key
		if actions := c.Field("actionVerbs").Key; actions.Line > later.Line || actions.Line == later.Line && actions.Column > later.Column {
			later = actions
		}
		c.Fail(later, diag.Exclusive, "write two entries", "identities and actionVerbs exclude each other: no request has an identity and an action")
	}
	if len(r.Modes) > 0 && !slices.ContainsFunc(r.Modes, func(mode string) bool { return mode != legacy }) {
		c.Fail(c.Field("modes").Key, diag.BadValue, "add another mode, or leave modes out",
			"modes has only %q, in which no action is asked about: the entry matches nothing", legacy)
	}
}

// warnOfImpersonation warns of entries that deny less or more than they read.
func warnOfImpersonation(d *syntax.Decoder, c *syntax.Cursor, r *ImpersonationRule) {
	if len(r.Modes) > 0 && !slices.Contains(r.Modes, legacy) {
		d.Warn(c.Field("modes").Key, diag.NoLegacyMode, "add \"legacy\", or leave modes out",
			"modes has no %q: an API server that is denied these modes asks for it next", legacy)
	}
	for _, field := range []struct {
		name, resource string
		given          bool
	}{
		{"identityResources", "", len(r.IdentityResources) > 0},
		{"extraKeys", "userextras", len(r.ExtraKeys) > 0},
		{"namespaces", "serviceaccounts", r.Namespaces != nil},
	} {
		switch {
		case !field.given:
		case len(r.ActionVerbs) > 0:
			d.Warn(c.Field(field.name).Key, diag.IgnoredCondition, "write two entries",
				"%s is not looked at beside actionVerbs: the entry denies the action for every identity", field.name)
		case field.resource != "" && len(r.IdentityResources) > 0 && !slices.Contains(r.IdentityResources, field.resource):
			d.Warn(c.Field(field.name).Key, diag.MatchesNothing, "add "+syntax.Quote(field.resource)+" to identityResources",
				"%s without %s in identityResources: it fits nothing but \"*\"", field.name, syntax.Quote(field.resource))
		}
	}
}
