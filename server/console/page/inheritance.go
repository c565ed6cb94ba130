package page

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// inheritanceContent is how policies come down from a gateway to the rules of routes.
type inheritanceContent struct {
	Kinds, Gateways []piece.Option
	Kind            string
	Target          string
	Graph           *graph
	List            []string
	// MoreNodes and MoreList are how many nodes are left out of the picture and of List, if
	// above zero.
	MoreNodes, MoreList int
	Variants            []variant
	Conditions          []string
	Texts               []carried
}

// variant is an effective policy with the paths that have it.
type variant struct {
	Name  string
	Paths []string
	More  int // paths that are left out
	Rows  []effectiveRow
}

// effectiveRow is a rule that is in force, or one that is not any more.
type effectiveRow struct {
	Rule, From, Href string
	How, Class       string
	Value            string
	Lost             bool
}

func (c *inheritanceContent) html() h.Node {
	if c.Graph == nil {
		return piece.Div("card empty", h.H2(h.Text("No gateways")), h.P(h.Text("Gateways, routes and their policies would stand here.")))
	}
	return piece.Div("stack",
		piece.Ask(inheritancePath, "card line", "Shown", piece.Select("field", "kind", "Kind", c.Kinds), piece.Select("field", "gateway", "Gateway", c.Gateways), h.Button(h.Text("Show"))),
		piece.Card("Paths", h.Div(piece.Region("scroll", "Paths, scrolls"), c.Graph.html()),
			h.If(c.MoreNodes > 0, piece.P("muted", h.Text(piece.Plural(c.MoreNodes, "node")+" are left out of the picture. Choose a gateway with fewer routes, or see "),
				piece.A("/v1/topology", h.Text("the topology as JSON")), h.Text(".")))),
		piece.Card("Effective "+c.Kind, h.H2(piece.Heading("Effective "+c.Kind, c.Target)),
			piece.Each(c.Variants, func(v *variant) h.Node { return v.html(c.Kind) }),
			h.If(len(c.Variants) == 0, noneInForce(c.Kind)),
			piece.Each(c.Conditions, func(text *string) h.Node { return piece.P("small muted", h.Text(*text)) })),
		piece.Titled("as-text", h.Text("The picture as text"),
			h.Details(h.Summary(h.Text("List")), h.Ul(h.Class("plain"), piece.Each(c.List, listItem))),
			h.If(c.MoreList > 0, piece.P("muted", h.Text(piece.Plural(c.MoreList, "node")+" are left out here. "),
				piece.A("/v1/topology?format=mermaid", h.Text("Mermaid")), h.Text(" and "), piece.A("/v1/topology?format=dot", h.Text("DOT")), h.Text(" have all."))),
			piece.Each(c.Texts, func(t *carried) h.Node {
				return h.Details(h.Summary(h.Text(t.Name)), piece.P("scripted", piece.CopyButton(t.ID, t.Name)), piece.Copied(t.ID, t.Name, t.Text))
			})))
}

func noneInForce(kind string) h.Node {
	return piece.P("muted", h.Text("No "+kind+" is in force here."))
}

// html is the rules of a kind of policies.
func (v *variant) html(kind string) h.Node {
	rules := noneInForce(kind)
	if len(v.Rows) > 0 {
		rules = h.Table(h.Class("stacked"), h.Aria("label", v.Name), piece.Head(piece.Columns("Rule", "From", "How", "Value")), h.TBody(piece.Each(v.Rows, (*effectiveRow).html)))
	}
	more := ""
	if v.More > 0 {
		more = " and " + piece.Number(v.More) + " more"
	}
	return h.Group{piece.P("small", piece.Note("muted", "On"), h.Text(" "+strings.Join(v.Paths, ", ")+more)), rules}
}

func (r *effectiveRow) html() h.Node {
	from := h.Text(r.From)
	if r.Href != "" {
		from = piece.A(r.Href, from)
	}
	if r.Lost {
		return h.Tr(h.Class("lost"), piece.RowHead(h.Code(h.Class("was"), h.Text(r.Rule))), piece.Td("from", from), piece.Td("small", h.Text(r.How)), piece.Td("small mono", h.Text(r.Value)))
	}
	return h.Tr(piece.RowHead(h.Code(h.Text(r.Rule))), piece.Td("from", from), h.Td(piece.Note("pill "+r.Class, r.How)), piece.Td("small mono", h.Text(r.Value)))
}

// maxNodes bounds the nodes of the picture, maxList those of the list, and maxPaths the paths
// of a variant.
const (
	maxNodes = 400
	maxList  = 500
	maxPaths = 20
)

var policyKinds = []string{"AuthPolicy", "RateLimitPolicy", "TokenRateLimitPolicy"}

const inheritancePath = "/page/inheritance"

// inheritance is the view of gateways and their policies.
func inheritance(_ context.Context, q *question) (frame, error) {
	c := inheritanceContent{Kind: q.value("kind"), Target: q.value("target")}
	if !slices.Contains(policyKinds, c.Kind) {
		c.Kind = policyKinds[0]
	}
	shown := frame{Title: "Inheritance", Lead: "How gateway policies come down to each path.", Live: "revision"}
	topology, err := shownTopology(q)
	if err != nil {
		return frame{}, err
	}
	for _, kind := range policyKinds {
		c.Kinds = append(c.Kinds, piece.Option{Value: kind, Word: kind, Selected: kind == c.Kind})
	}
	for _, gateway := range topology.Gateways {
		isShown := len(topology.Nodes) > 0 && topology.Nodes[0].Name == gateway // a gateway is its first node
		c.Gateways = append(c.Gateways, piece.Option{Value: gateway, Word: gateway, Selected: isShown})
	}
	if len(topology.Nodes) > 0 {
		c.Target = cmp.Or(c.Target, firstRule(topology))
		if err := c.showPaths(q, topology); err != nil {
			return frame{}, err
		}
	}
	shown.Content = &c
	return shown, nil
}

// shownTopology returns the gateway that is asked for, or the first one.
func shownTopology(q *question) (*console.Topology, error) {
	gateway := q.value("gateway")
	topology, err := q.Topology(q.caller, gateway)
	if err == nil && gateway == "" && len(topology.Gateways) > 1 {
		return q.Topology(q.caller, topology.Gateways[0])
	}
	return topology, err
}

func firstNode(t *console.Topology) string {
	if len(t.Nodes) == 0 {
		return ""
	}
	return t.Nodes[0].ID
}

// firstRule is the first rule of a route, or the first node without any.
func firstRule(t *console.Topology) string {
	for i := range t.Nodes {
		if t.Nodes[i].Column == len(columns)-1 {
			return t.Nodes[i].ID
		}
	}
	return firstNode(t)
}

// showPaths fills in the picture and the effective policy of the target.
func (c *inheritanceContent) showPaths(q *question, t *console.Topology) error {
	places := make(map[string]console.NodePolicy)
	for i := range t.Nodes {
		for _, p := range t.Nodes[i].Policies {
			places[p.Kind+"/"+p.Namespace+"/"+p.Name] = p
		}
	}
	nodes, edges := joinAlike(t, c.Kind, q.query["open"])
	if c.MoreNodes = len(nodes) - maxNodes; c.MoreNodes > 0 {
		nodes = nodes[:maxNodes]
	}
	c.Graph = drawGraph(nodes, edges, c.Target, func(target string) string {
		if alike, isGroup := strings.CutPrefix(target, alikePrefix); isGroup {
			return withValue(inheritancePath, q.query, "open", alike)
		}
		return withValue(inheritancePath, q.query, "target", target)
	})
	for i := range t.Nodes {
		n := &t.Nodes[i]
		line := strings.Repeat("– ", n.Column) + strings.TrimSpace(n.Kind+" "+n.Name+" "+n.Shows)
		for _, p := range n.Policies {
			line += "; " + tables.Title(p.Kind, p.Namespace, p.Name) + " (" + strings.Join(p.Forms, "; ") + ")"
		}
		c.List = append(c.List, line)
	}
	if c.MoreList = len(c.List) - maxList; c.MoreList > 0 {
		c.List = c.List[:maxList]
	} else {
		c.Texts = []carried{{"mermaid", "Mermaid", "", t.Mermaid()}, {"dot", "DOT", "", t.DOT()}}
	}
	found, err := q.Effective(q.caller, c.Kind, c.Target)
	if err != nil {
		return err
	}
	for i, v := range found.Each() {
		c.Variants = append(c.Variants, variantOf(i, &v, places))
	}
	for _, condition := range found.Conditions {
		c.Conditions = append(c.Conditions, fmt.Sprintf("%s: %s (%s). %s", condition.Type, condition.Status, condition.Reason, sentence(condition.Message)))
	}
	return nil
}

// variantOf is the variant of an effective policy with an index: rules in force, each followed
// by those that it replaces.
func variantOf(i int, v *console.Variant, places map[string]console.NodePolicy) variant {
	shown := variant{Name: "Effective rules", Paths: v.Paths[:min(len(v.Paths), maxPaths)], More: max(0, len(v.Paths)-maxPaths)}
	if i > 0 {
		shown.Name = fmt.Sprintf("Effective rules, variant %d", i+1)
	}
	overrides := make(map[string]bool)
	if v.Detail != nil {
		for _, r := range v.Detail.Rules {
			overrides[r.Key] = r.Override
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.Rules)) {
		shown.Rows = append(shown.Rows, ruleInForce(key, v.Sources[key], v.Rules[key], overrides[key], places))
		for _, r := range v.Replaced {
			if r.Rule == key {
				shown.Rows = append(shown.Rows, ruleLost(&r, places))
			}
		}
	}
	for _, r := range v.Replaced {
		if _, inForce := v.Rules[r.Rule]; !inForce {
			shown.Rows = append(shown.Rows, ruleLost(&r, places))
		}
	}
	return shown
}

func ruleInForce(key, source string, value any, override bool, places map[string]console.NodePolicy) effectiveRow {
	row := effectiveRow{
		Rule: key, From: bare(source), Href: piece.LineHref(places[source].Source), Value: string(jsontext.Encode(value)), How: "default", Class: "none",
	}
	if override {
		row.How, row.Class = "override", "warn"
	}
	return row
}

// lostWords are why a rule is not in force, with the names of the policies that replace it.
var lostWords = map[string]string{
	"condition": "the merge condition of its block is false", "unset": "unset by %s",
	"atomic-default": "replaced by the rules of %s, because it is an atomic default", "default": "replaced by the rule of %s, because it is a default",
	"atomic-override": "overridden by %s, with all other rules", "override": "overridden by %s",
}

func ruleLost(r *console.Replaced, places map[string]console.NodePolicy) effectiveRow {
	names := elements.Map(r.By, bare)
	text, known := lostWords[r.How]
	if !known {
		text = r.How + " by %s"
	}
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, strings.Join(names, ", "))
	}
	row := effectiveRow{Rule: r.Rule, From: bare(r.Policy), Href: piece.LineHref(places[r.Policy].Source), How: text, Lost: true}
	if r.Value != nil {
		row.Value = string(jsontext.Encode(r.Value))
	}
	return row
}

// bare is the namespace and the name of KIND/NAMESPACE/NAME.
func bare(locator string) string {
	_, name, _ := strings.Cut(locator, "/")
	return name
}

// Graphs with more nodes than manyNodes join routes that have the same effective policies.
const (
	manyNodes   = 60
	alikePrefix = "alike:"
)

// joinAlike replaces routes with the same policies and the same effective policies of a
// kind by one node each, unless they are open.
func joinAlike(t *console.Topology, kind string, open []string) ([]console.Node, [][2]string) {
	if len(t.Nodes) <= manyNodes {
		return t.Nodes, t.Edges
	}
	byID := make(map[string]*console.Node)
	for i := range t.Nodes {
		byID[t.Nodes[i].ID] = &t.Nodes[i]
	}
	signature := signatures(t, kind, byID)
	routes := make(map[string][]string) // by signature
	for id, s := range signature {
		routes[s] = append(routes[s], id)
	}
	replaced := make(map[string]string)
	for _, s := range slices.Sorted(maps.Keys(routes)) {
		alike := routes[s]
		sort.Strings(alike)
		if len(alike) == 1 || slices.Contains(open, alike[0]) {
			continue
		}
		for _, id := range alike {
			replaced[id] = alikePrefix + alike[0]
		}
	}
	return mergeRoutes(t, byID, replaced, routes, signature)
}

// signatures are what routes must share to be alike: who leads to them, and the effective
// policies of their rules.
func signatures(t *console.Topology, kind string, byID map[string]*console.Node) map[string]string {
	parts := make(map[string][]string)
	for _, e := range t.Edges {
		from, to := byID[e[0]], byID[e[1]]
		if from == nil || to == nil {
			continue
		}
		if to.Column == 2 {
			parts[to.ID] = append(parts[to.ID], "from "+from.ID)
		}
		if from.Column == 2 {
			parts[from.ID] = append(parts[from.ID], fmt.Sprintf("rule %d %v", to.Effective[kind], to.Policies))
		}
	}
	signature := make(map[string]string)
	for id, list := range parts {
		if n := byID[id]; n.Column == 2 {
			sort.Strings(list)
			signature[id] = strings.Join(slices.Compact(list), ";") + fmt.Sprint(n.Policies)
		}
	}
	return signature
}

// mergeRoutes returns the graph with the replaced routes as one node, without their rules.
func mergeRoutes(t *console.Topology, byID map[string]*console.Node, replaced map[string]string, routes map[string][]string, signature map[string]string) ([]console.Node, [][2]string) {
	hidden := make(map[string]bool)
	for _, e := range t.Edges {
		if replaced[e[0]] != "" {
			hidden[e[1]] = true
		}
	}
	var nodes []console.Node
	added := make(map[string]bool)
	for i := range t.Nodes {
		n := t.Nodes[i]
		group := replaced[n.ID]
		switch {
		case hidden[n.ID] || added[group] && group != "":
		case group != "":
			added[group] = true
			nodes = append(nodes, console.Node{ID: group, Kind: n.Kind, Name: fmt.Sprintf("%d routes alike", len(routes[signature[n.ID]])), Column: n.Column, Policies: byID[n.ID].Policies})
		default:
			nodes = append(nodes, n)
		}
	}
	var edges [][2]string
	seen := make(map[[2]string]bool)
	for _, e := range t.Edges {
		if hidden[e[1]] {
			continue
		}
		if group := replaced[e[1]]; group != "" {
			e[1] = group
		}
		if !seen[e] {
			seen[e] = true
			edges = append(edges, e)
		}
	}
	return nodes, edges
}
