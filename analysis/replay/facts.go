package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// fact is something that a request lacks, with values that it may have.
type fact struct {
	name   string
	values []any
	// open states that the values do not stand for every one.
	open bool
}

// lacking returns a request at the point access, and the facts that it lacks and on which
// its decisions may rest.
func (o *Options) lacking(r *record, before, after statement.Verdict) (request map[string]any, out []fact) {
	if r.point != statement.PointAccess {
		return nil, nil
	}
	mentions := func(text string) bool {
		return bytes.Contains(before.Decision, []byte(text)) || bytes.Contains(after.Decision, []byte(text))
	}
	if !mentions("unavailable") && !mentions("unknown") && !mentions("undecidable") && !mentions("podSecurity") {
		return nil, nil
	}
	if err := json.Unmarshal(r.request(), &request); err != nil {
		return nil, nil // it is decided as valid
	}
	lacks := func(key string) bool { return request[key] == nil || request[key] == "" }
	if mentions("pod spec unavailable") && lacks("pod") && lacks("podError") {
		out = append(out, fact{"pod", anyOf(o.Facts.Pods), false})
	}
	// Pod security, which exempts namespaces by labels, does not mention that they are unknown.
	if (len(out) > 0 || mentions("namespace labels are unknown") || mentions("podSecurity")) && lacks("namespaceLabels") {
		out = append(out, fact{"namespaceLabels", anyOf(o.Facts.NamespaceLabels), !o.Facts.Complete})
	}
	if mentions("labelsContain undecidable") && lacks("labels") && !r.selects {
		out = append(out, fact{"labels", anyOf(o.Facts.Labels), !o.Facts.Complete})
	}
	selected := mentions("fieldsSelect undecidable") && !r.selects
	if mutable := mentions("fieldsMutatable undecidable") && lacks("fields"); mutable || selected {
		// No value of the request decides fieldsSelect in place of a selector.
		out = append(out, fact{"fields", anyOf(o.Facts.Fields), selected || !o.Facts.Complete})
	}
	restrictions := undecidable(before, after)
	if r.selects && strings.HasPrefix(r.user, nodePrefix) {
		restrictions = slices.DeleteFunc(restrictions, func(name string) bool { return name == sameMinion })
	}
	if len(restrictions) > 0 {
		out = append(out, fact{"attributes", nodes(r.user, request), restrictions[0] != sameMinion || len(restrictions) > 1})
	}
	return request, out
}

func anyOf[V any](list []V) []any {
	out := make([]any, len(list))
	for i, value := range list {
		out[i] = value
	}
	return out
}

// nodes returns attributes by which the nodes of the user and of the pod are the same, and
// others by which they are not.
func nodes(user string, request map[string]any) (out []any) {
	given, _ := request["attributes"].(map[string]any)
	text := func(in any, key string) string {
		object, _ := in.(map[string]any)
		value, _ := object[key].(string)
		return value
	}
	requester, isNode := strings.CutPrefix(user, nodePrefix)
	if !isNode {
		requester = text(given, "minion")
	}
	pod, _ := request["pod"].(map[string]any)
	runsOn := cmp.Or(text(pod["spec"], "nodeName"), text(given, "podMinion"))
	node := cmp.Or(requester, runsOn, "a")
	for _, other := range []string{node, node + "-other"} {
		with := maps.Clone(given)
		if with == nil {
			with = make(map[string]any)
		}
		with["minion"], with["podMinion"] = cmp.Or(requester, other), cmp.Or(runsOn, other)
		if requester == "" && runsOn == "" {
			with["podMinion"] = node
		}
		out = append(out, with)
	}
	return out
}

var undecidableText = regexp.MustCompile(`rule \d+: ([^ "]+) undecidable`)

const (
	nodePrefix = "system:node:"
	sameMinion = "sameMinionRestriction"
)

// undecidable returns the restrictions beside those of labels and fields that decisions
// name as undecidable: of nodes, CEL and extensions.
func undecidable(verdicts ...statement.Verdict) []string {
	var out []string
	for _, v := range verdicts {
		for _, found := range undecidableText.FindAllSubmatch(v.Decision, -1) {
			if name := string(found[1]); !slices.Contains([]string{"labelsContain", "fieldsMutatable", "fieldsSelect"}, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// variant returns one of the combinations of a request and values of facts that it lacks.
func variant(point string, request map[string]any, facts []fact, number int) (decision.Question, bool) {
	with := maps.Clone(request)
	for _, f := range facts {
		with[f.name] = f.values[number%len(f.values)]
		number /= len(f.values)
	}
	p, _ := decision.FindPoint(point)
	q, err := p.Decode(statement.Encode(with), nil)
	return q, err == nil
}
