package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// gatewayModule is the module of one policy: the rules of it that are in force
// somewhere. Each reads the state of the request as it is when its turn comes.
type gatewayModule struct {
	*emit.Module
	policy string
	helped int               // helper rules so far, which number them
	bodies map[string][]byte // modules of inline Rego, by their paths
}

func newGatewayModule(policy string) *gatewayModule {
	return &gatewayModule{Module: emit.NewModule(policyNames(policy)...), policy: policy, bodies: make(map[string][]byte)}
}

// file is the whole module: what it imports shows in the end.
func (m *gatewayModule) file() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# The rules of one policy that are in force on some path. Generated from %s\npackage compiled.gateway\n", regotext.Comment(m.policy))
	text := m.Bytes()
	for _, library := range []string{"outcome", "selector"} {
		if bytes.Contains(text, []byte(library+".")) {
			fmt.Fprintf(&out, "\nimport data.writ.gateway.%s\n", library)
		}
	}
	out.Write(text)
	return out.Bytes()
}

// helper is a fresh name for a helper rule.
func (m *gatewayModule) helper() string {
	m.helped++
	return m.HelperName(fmt.Sprintf("part_%d", m.helped))
}

// policyRule writes what the effective policies ask of one rule.
func (m *gatewayModule) policyRule(named *tables.NamedRule) {
	id, rule := regotext.Quote(named.Name), named.Rule
	m.Metadata(fmt.Sprintf("%s of %s", named.Key, m.policy), named.Source)
	switch {
	case rule.Pattern != nil:
		verdict := m.all(rule.Pattern.AllOf)
		emit.WriteBoolean(&m.Out, "pattern["+id+"]", verdict.holds)
	case rule.Denial != nil:
		fmt.Fprintf(&m.Out, "\ndenial[%s] := %s\n", id, m.denial(rule.Denial))
	case rule.Authorization != nil:
		m.writeApplies(id, rule.When)
		m.authorization(id, named)
	case rule.Item != nil:
		m.writeApplies(id, rule.When)
		m.item(id, rule.Item)
	default:
		m.writeApplies(id, rule.When)
	}
}

// writeApplies writes the rule applies[id]: whether a rule with these conditions
// applies. It also applies if a condition fails, so that a failure cannot skip a check.
func (m *gatewayModule) writeApplies(id string, when []tables.RequestCondition) {
	conditions := m.all(when)
	if conditions.settled == nil {
		conditions.settled = conditions.holds
	}
	emit.WriteBoolean(&m.Out, "applies["+id+"]", conditions.settled)
}

func (m *gatewayModule) authorization(id string, named *tables.NamedRule) {
	a := named.Rule.Authorization
	judged := func(outcome, value string, conditions ...string) {
		head := fmt.Sprintf("judged[%s] := {\"outcome\": %s, \"value\": %s}", id, regotext.Quote(outcome), value)
		emit.WriteRule(&m.Out, head, conditions)
	}
	var applies []string
	if len(named.Rule.When) > 0 {
		applies = []string{"applies[" + id + "]"}
		judged("skip", "null", "not "+applies[0])
	}
	// where is the conditions of a rule that applies.
	where := func(conditions ...string) []string { return slices.Concat(applies, conditions) }
	switch {
	case a.Patterns != nil:
		verdict := m.all(*a.Patterns)
		holds := m.named(verdict.holds)
		judged("allow", "true", where(holds)...)
		if verdict.settled == nil {
			judged("deny", "null", where("not "+holds)...)
			return
		}
		settled := m.named(verdict.settled)
		judged("error", "null", where("not "+holds, settled)...)
		judged("deny", "null", where("not "+settled)...)
	case a.Rego != nil:
		body := m.body(named)
		if !a.Rego.Allows {
			judged("deny", "null", applies...)
			return
		}
		// Whatever type allow has, OPA's checker must take the comparison.
		allows := m.named([]string{"value := " + body + ".allow with input as outcome.seen", "outcome.is_true(value)"})
		value := `{"allow": true}`
		if a.Rego.AllValues {
			value = m.helper()
			fmt.Fprintf(&m.Helpers, "\n%s := outcome.plain(values) if values := %s with input as outcome.seen\n", value, body)
		}
		judged("allow", value, where(allows)...)
		judged("deny", "null", where("not "+allows)...)
	case a.Review != nil:
		m.review(id, a.Review)
		allows := m.named([]string{"outcome.allowed(review[" + id + "])"})
		judged("allow", `{"allowed": true}`, where(allows)...)
		judged("deny", "null", where("review["+id+"]", "not "+allows)...)
		judged("error", "null", where("not review["+id+"]")...)
	}
}

// body writes inline Rego as a module of its own and returns how it is called. Its
// package has nothing else in it, and no other document can be reached from there.
func (m *gatewayModule) body(named *tables.NamedRule) string {
	names, r := bodyNames(named), named.Rule.Authorization.Rego
	own := emit.Identifier(names...)
	text := fmt.Sprintf("# Rego of a policy. Generated from %s\npackage compiled.gateway.rego.%s\n\n%s", regotext.Comment(named.Name), own, r.Source)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	m.bodies[BodyFolder+names[0]+"-"+emit.FileName(names[1:]...)+".rego"] = []byte(text)
	return "data.compiled.gateway.rego." + own
}

// bodyNames returns the names from which the module of inline Rego has its own.
func bodyNames(named *tables.NamedRule) []string {
	return append(policyNames(named.Policy), strings.TrimPrefix(named.Name, named.Policy+" rules.authorization."))
}

// review writes the access request of a rule; it is undefined where an expression
// in it has no value.
func (m *gatewayModule) review(id string, r *tables.AccessReview) {
	fmt.Fprintf(&m.Out, "\nreview[%s] := outcome.review(%s, %s, %s)\n",
		id, m.reviewText(r.User), m.reviewGroups(r), m.reviewAttributes(r.Resource))
}

func (m *gatewayModule) reviewText(v *tables.RequestValue) string {
	if v == nil {
		return `""`
	}
	return "selector.text(" + m.value(v, false) + ")"
}

func (m *gatewayModule) reviewGroups(r *tables.AccessReview) string {
	groups := "[" + strings.Join(emit.QuoteAll(r.Groups), ", ") + "]"
	if r.AuthorizationGroups == nil {
		return groups
	}
	return fmt.Sprintf("array.concat(%s, selector.elements(%s))", groups, m.value(r.AuthorizationGroups, false))
}

func (m *gatewayModule) reviewAttributes(r *tables.ResourceAttributes) string {
	if r == nil {
		return `{"verb": lower(input.request.method), "path": input.request.url_path}`
	}
	members := []struct {
		key   string
		value *tables.RequestValue
	}{
		{"verb", r.Verb}, {"apiGroup", r.Group}, {"resource", r.Resource},
		{"subresource", r.Subresource}, {"namespace", r.Namespace}, {"name", r.Name},
	}
	parts := make([]string, len(members))
	for i, member := range members {
		parts[i] = regotext.Quote(member.key) + ": " + m.reviewText(member.value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (m *gatewayModule) denial(d *tables.GatewayDenial) string {
	var members []string
	if d.Code != 0 {
		members = append(members, fmt.Sprintf(`"code": %d`, d.Code))
	}
	for _, text := range []struct {
		key   string
		value *tables.RequestValue
	}{{"message", d.Message}, {"body", d.Body}} {
		if text.value != nil {
			members = append(members, regotext.Quote(text.key)+": selector.text("+m.value(text.value, true)+")")
		}
	}
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		value := d.Headers[name]
		headers = append(headers, regotext.Quote(name)+": selector.text("+m.value(&value, true)+")")
	}
	members = append(members, `"headers": {`+strings.Join(headers, ", ")+"}")
	return "{" + strings.Join(members, ", ") + "}"
}

// item writes the value that an item adds to the answer. One without a value is
// signed with a key that is not here.
func (m *gatewayModule) item(id string, item *tables.GatewayItem) {
	value := ""
	switch {
	case item.Plain != nil:
		value = m.value(item.Plain, true)
	case item.Properties != nil:
		var properties []string
		for _, name := range slices.Sorted(maps.Keys(item.Properties)) {
			property := item.Properties[name]
			properties = append(properties, regotext.Quote(name)+": "+m.value(&property, true))
		}
		value = "{" + strings.Join(properties, ", ") + "}"
	default:
		return
	}
	emit.WriteRule(&m.Out, fmt.Sprintf("item[%s] := %s", id, value), []string{"applies[" + id + "]"})
}
