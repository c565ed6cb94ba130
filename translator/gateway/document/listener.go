package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// The fields of a Gateway that are known and not interpreted.
var (
	objectReference  = fields{"group": syntax.String, "kind": syntax.String, "name": syntax.String, "namespace": syntax.String}
	localReference   = fields{"group": syntax.String, "kind": syntax.String, "name": syntax.String}
	labelSelector    = reader(func(d *syntax.Decoder, _, n *syntax.Node) { d.Selector(n) })
	clientValidation = fields{"caCertificateRefs": listOf{objectReference}, "mode": syntax.String}
	gatewayFields    = fields{
		"gatewayClassName": syntax.String,
		"addresses":        listOf{fields{"type": syntax.String, "value": syntax.String}},
		"infrastructure":   fields{"labels": mapOf{syntax.String}, "annotations": mapOf{syntax.String}, "parametersRef": localReference},
		"allowedListeners": fields{"namespaces": fields{"from": syntax.String, "selector": labelSelector}},
		"backendTLS":       fields{"clientCertificateRef": objectReference},
		"defaultScope":     syntax.String,
		"tls": fields{
			"backend": fields{"clientCertificateRef": objectReference},
			"frontend": fields{
				"default": fields{"validation": clientValidation},
				"perPort": listOf{fields{"port": syntax.Integer, "tls": fields{"validation": clientValidation}}},
			},
		},
	}
	listenerFields = fields{"tls": fields{
		"mode": syntax.String, "certificateRefs": listOf{objectReference}, "options": mapOf{syntax.String}, "frontendValidation": clientValidation,
	}}
)

// gateway decodes the spec of a Gateway.
func (g *gatewayDocument) gateway() *Gateway {
	out := &Gateway{Header: g.h}
	c := g.spec
	if c == nil {
		return out
	}
	checkShape(c, gatewayFields)
	items := c.RequiredList("listeners")
	seen := make(map[string]diag.Position)
	for _, item := range items {
		l, ok := decodeListener(g.d, item)
		if !ok {
			continue
		}
		if checkUnique(g.d, seen, l.Name, "listener") {
			out.Listeners = append(out.Listeners, l)
		}
	}
	c.Done()
	return out
}

// checkUnique reports a name that is there already.
func checkUnique(d *syntax.Decoder, seen map[string]diag.Position, name syntax.Text, what string) bool {
	first, twice := seen[name.Value]
	if !twice {
		seen[name.Value] = name.At
		return true
	}
	duplicate := name.Diagnostic(diag.Error, diag.Duplicate, "", "duplicate %s %s", what, syntax.Quote(name.Value))
	duplicate.Related = []diag.Related{{Position: first, Message: "the first one is here"}}
	d.Add(duplicate)
	return false
}

// decodeListener decodes one of listeners and reports whether it has a name.
func decodeListener(d *syntax.Decoder, n *syntax.Node) (Listener, bool) {
	l := Listener{At: d.At(n), From: "Same"}
	c := d.Cursor(n, "a listener", false)
	if c == nil {
		return l, false
	}
	name := c.Required("name")
	if hostname := c.Text("hostname"); hostname != nil && hostname.Value != "" {
		l.Hostname = decodeHostname(d, hostname, "hostname")
	}
	if c.Value("port") == nil {
		c.Missing("port", "")
	}
	l.Port, _ = c.Integer("port", 1, 65535)
	l.Protocol = c.Required("protocol").Text()
	decodeAllowedRoutes(d, c.Mapping("allowedRoutes"), &l)
	checkShape(c, listenerFields)
	c.Done()
	if name == nil {
		return l, false
	}
	l.Name = d.Text(name)
	return l, true
}

var hostnameForm = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)

// decodeHostname reads a host name, perhaps with "*" as its first label, in lower case.
// It returns the empty string for another text.
func decodeHostname(d *syntax.Decoder, n *syntax.Node, name string) string {
	lower := syntax.Fold(n.Value)
	if !hostnameForm.MatchString(lower) {
		d.Fail(n, diag.Value, "write \"www.example.com\" or \"*.example.com\"", "%s %s must be a host name", name, syntax.Quote(n.Value))
		return ""
	}
	return lower
}

// decodeAllowedRoutes decodes which routes may attach to a listener.
func decodeAllowedRoutes(d *syntax.Decoder, c *syntax.Cursor, l *Listener) {
	if c == nil {
		return
	}
	namespaces := c.Mapping("namespaces")
	l.From = readWord(namespaces, "from", diag.Value, l.From, "Same", "All", "Selector", "None")
	if n := namespaces.Value("selector"); n != nil {
		selector := d.Selector(n)
		if l.From == "Selector" {
			warnNamespaceLabels(d, n)
			l.Namespaces = &selector
		}
	} else if l.From == "Selector" {
		namespaces.Missing("selector", "write selector: {matchLabels: {"+namespaceName+": NAME}}")
		l.Namespaces = &syntax.Selector{}
	}
	namespaces.Done()
	kinds, _ := c.List("kinds")
	for _, n := range kinds {
		k := d.Cursor(n, "an entry of kinds", false)
		group, name := k.Text("group"), k.Required("kind")
		k.Done()
		switch {
		case name == nil:
		case group != nil && group.Value != groupGateway:
			l.Kinds = append(l.Kinds, group.Value+"/"+name.Value)
		default:
			l.Kinds = append(l.Kinds, name.Value)
		}
	}
	c.Done()
}

// namespaceName is the label that every namespace has, with its name.
const namespaceName = "kubernetes.io/metadata.name"

// warnNamespaceLabels reports the labels of a selector whose values the documents do not have.
func warnNamespaceLabels(d *syntax.Decoder, n *syntax.Node) {
	var keys []*syntax.Node
	if labels := n.Find("matchLabels", false); labels != nil {
		for _, f := range labels.Value.Fields {
			keys = append(keys, f.Key)
		}
	}
	if expressions := n.Find("matchExpressions", false); expressions != nil {
		for _, e := range expressions.Value.Items {
			if key := e.Find("key", false); key != nil && key.Value.Type == syntax.String {
				keys = append(keys, key.Value)
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(k *syntax.Node) bool { return k.Value == namespaceName })
	for _, key := range keys {
		d.Fail(key, diag.NamespaceSelector, "write "+namespaceName+", the namespace's name",
			"label %s of a namespace is not known here", syntax.Quote(strings.TrimSpace(key.Value)))
	}
}
