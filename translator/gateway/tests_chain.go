package gateway

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// maxChainRows bounds the rows of one effective policy.
const maxChainRows = 24

// chainRow is a request on a path, what the rules there come to, each alone, and what the
// effective policy makes of that.
type chainRow struct {
	note string
	// Identity is that of the request; nil for none.
	Identity map[string]string         `json:"identity"`
	Applies  map[string]bool           `json:"applies"`
	Judged   map[string]map[string]any `json:"judged"`
	Item     map[string]string         `json:"item"`
	Want     map[string]any            `json:"want"`
}

// chainTests writes one file for each effective policy: in which order and state its rules
// are asked, and what a denial and the answer to an allowed request have. What a rule comes to
// is stated by the row, so that a rule of Rego or of the access point is like the others.
func chainTests(lowered *tables.Gateway, files map[string][]byte) {
	for i := range min(len(lowered.Effective), emit.TestedRoles) {
		if steps := lowered.Effective[i].Steps; steps != nil {
			files["compiled/tests/gateway/effective/"+steps.ID+"_test.rego"] = chainTest(steps)
		}
	}
}

// constants are what the rules of an effective policy answer in its test, whatever the request.
type constants struct {
	patterns         map[string]string
	denials, reviews map[string]any
}

func constantsOf(steps *tables.GatewaySteps) constants {
	c := constants{make(map[string]string), make(map[string]any), make(map[string]any)}
	for name, rule := range map[string]*tables.NamedRule{"unauthenticated": steps.Unauthenticated, "unauthorized": steps.Unauthorized} {
		if rule != nil {
			c.denials[rule.Name] = name
		}
	}
	for _, rule := range steps.Authorization {
		if rule.Rule.Authorization.Review != nil {
			c.reviews[rule.Name] = rule.Name
		}
	}
	for pattern, rule := range steps.Patterns {
		c.patterns[pattern] = rule.Name
	}
	return c
}

func chainTest(steps *tables.GatewaySteps) []byte {
	end, c := "_identified", constantsOf(steps)
	switch {
	case len(steps.Items) > 0:
		end = fmt.Sprintf("_answered_%d", len(steps.Items)-1)
	case len(steps.Authorization) > 0:
		end = "_end"
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `# METADATA
# description: |
#   The order of the rules that some paths come to, and what each one sees and adds.
package compiled.tests.gateway.effective.%[1]s_test

import data.compiled.gateway
import data.compiled.gateway.effective.%[1]s

_found[key] := value if {
	some key in {"applies", "headers", "identified", "metadata", "outcomes", "unauthenticated", "unauthorized"}
	value := %[1]s[key]
}

_found["auth"] := %[1]s.%[2]s.auth

test_patterns if {
	found := %[1]s._start[null].patterns with input as _input
	found == %[3]s
}

test_rules[note] if {
	some note, row in _rows
	found := _found with input as object.union(_input, {"auth": {"identity": row.identity}})
		with gateway.applies as row.applies
		with gateway.denial as %[4]s
		with gateway.item as row.item
		with gateway.judged as row.judged
		with gateway.review as %[5]s
	found == row.want
}

_input := {"request": {"host": "writ.example", "method": "GET", "path": "/"}}
`, steps.ID, end, regotext.Constant(c.patterns), regotext.Constant(c.denials), regotext.Constant(c.reviews))
	if len(c.reviews) > 0 {
		fmt.Fprintf(&out, "\n_found[\"reviews\"] := sort(%s.reviews)\n", steps.ID)
	}
	emit.WriteRows(&out, "_rows", chainRows(steps), func(row chainRow) (string, any) { return row.note, row })
	return out.Bytes()
}

// chain is what the rules of an effective policy come to, each alone.
type chain struct {
	*tables.GatewaySteps
	hasIdentity bool
	applies     func(*tables.NamedRule) bool
	outcome     func(*tables.NamedRule) string
	hasItem     func(*tables.NamedRule) bool
}

func chainRows(steps *tables.GatewaySteps) []chainRow {
	always := func(*tables.NamedRule) bool { return true }
	only := func(rule *tables.NamedRule, outcome string) func(*tables.NamedRule) string {
		return func(other *tables.NamedRule) string {
			if other == rule {
				return outcome
			}
			return "allow"
		}
	}
	but := func(rule *tables.NamedRule) func(*tables.NamedRule) bool {
		return func(other *tables.NamedRule) bool { return other != rule }
	}
	var rows []chainRow
	add := func(note string, change func(c *chain)) {
		if len(rows) < maxChainRows {
			c := chain{steps, true, always, only(nil, ""), always}
			change(&c)
			rows = append(rows, c.row(note))
		}
	}
	add("all rules allow", func(*chain) {})
	if steps.When != nil {
		add("the policy does not apply", func(c *chain) { c.applies = but(steps.When) })
	}
	add("without an identity", func(c *chain) { c.hasIdentity = false })
	for _, rule := range steps.Anonymous {
		add("without an identity, which "+rule.Name+" does not accept", func(c *chain) { c.hasIdentity, c.applies = false, but(rule) })
	}
	for _, rule := range steps.Authorization {
		for _, outcome := range []string{"deny", "error", "skip"} {
			add(rule.Name+": "+outcome, func(c *chain) { c.outcome = only(rule, outcome) })
		}
	}
	for _, rule := range steps.Items {
		add("without "+rule.Name, func(c *chain) { c.hasItem = but(rule) })
	}
	return rows
}

// row returns what the chain is given, and what it comes to.
func (c *chain) row(note string) chainRow {
	row := chainRow{
		note: note, Applies: make(map[string]bool), Judged: make(map[string]map[string]any), Item: make(map[string]string),
		Want: map[string]any{"headers": map[string]any{}, "metadata": map[string]any{}},
	}
	if c.hasIdentity {
		row.Identity = map[string]string{"sub": "writ:user"}
	}
	for _, rule := range c.Rules() {
		if c.applies(rule) {
			row.Applies[rule.Name] = true
		}
	}
	if c.When == nil || c.applies(c.When) {
		row.Want["applies"] = true
	}
	row.Want["unauthenticated"] = denied(c.Unauthenticated, "unauthenticated")
	identity := c.identity(row.Identity)
	authorization, areAllAsked := c.authorize(&row, identity != nil)
	response := c.respond(&row, areAllAsked)
	if identity != nil {
		row.Want["identified"] = true
	}
	if areAllAsked || identity != nil && len(c.Items) == 0 {
		row.Want["auth"] = map[string]any{"identity": identity, "metadata": map[string]any{}, "authorization": authorization, "response": response}
	}
	if identity != nil || c.Unauthorized == nil {
		row.Want["unauthorized"] = denied(c.Unauthorized, "unauthorized")
	}
	return row
}

// denied is the response of a denial: that of a rule, or the default.
func denied(rule *tables.NamedRule, name string) any {
	if rule == nil {
		return map[string]any{}
	}
	return name
}

// identity returns who asks: nil if no rule accepts a request without an identity.
func (c *chain) identity(given map[string]string) any {
	switch {
	case given != nil:
		return given
	case !c.Authenticates || slices.ContainsFunc(c.Anonymous, c.applies):
		return map[string]bool{"anonymous": true}
	}
	return nil
}

// authorize adds what the authorization rules come to, and returns the values that later rules
// see, and whether all rules are asked: after a priority in which one denied, those of higher
// numbers are not, and neither are the items of the response.
func (c *chain) authorize(row *chainRow, isIdentified bool) (values map[string]any, areAllAsked bool) {
	values = make(map[string]any)
	reviews, outcomes := []string{}, make(map[string]any)
	denied, hasReview, isOver := false, false, !isIdentified
	for i, rule := range c.Authorization {
		outcome, review := c.outcome(rule), rule.Rule.Authorization.Review
		hasReview = hasReview || review != nil
		row.Judged[rule.Name] = map[string]any{"outcome": outcome, "value": i}
		if i > 0 && c.Authorization[i-1].Rule.Priority != rule.Rule.Priority {
			isOver = isOver || denied
		}
		if isOver {
			continue
		}
		outcomes[rule.Key] = outcome
		denied = denied || outcome == "deny" || outcome == "error"
		if outcome == "allow" {
			values[rule.ShortName()] = i
		}
		if review != nil && c.applies(rule) {
			reviews = append(reviews, rule.Name)
		}
	}
	if row.Want["outcomes"] = outcomes; hasReview {
		slices.Sort(reviews)
		row.Want["reviews"] = slices.Compact(reviews)
	}
	return values, !isOver
}

// respond adds what the answer to an allowed request has, and returns what later items see.
func (c *chain) respond(row *chainRow, areAsked bool) map[string]any {
	values := make(map[string]any)
	for i, rule := range c.Items {
		if !c.hasItem(rule) {
			continue
		}
		value, group := fmt.Sprint("value ", i), "metadata"
		row.Item[rule.Name] = value
		if !areAsked {
			continue
		}
		if rule.Rule.Item.Header {
			group = "headers"
		}
		row.Want[group].(map[string]any)[rule.Rule.Item.Key] = value
		values[rule.ShortName()] = value
	}
	return values
}
