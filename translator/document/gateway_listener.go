package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// The fields of a Gateway that are known and not interpreted.
var (
	objectReference  = fields{"group": text, "kind": text, "name": text, "namespace": text}
	localReference   = fields{"group": text, "kind": text, "name": text}
	labelSelector    = reader(func(d *decoder, _, n *node) { d.selector(n) })
	clientValidation = fields{"caCertificateRefs": listOf{objectReference}, "mode": text}
	gatewayFields    = fields{
		"gatewayClassName": text,
		"addresses":        listOf{fields{"type": text, "value": text}},
		"infrastructure":   fields{"labels": mapOf{text}, "annotations": mapOf{text}, "parametersRef": localReference},
		"allowedListeners": fields{"namespaces": fields{"from": text, "selector": labelSelector}},
		"backendTLS":       fields{"clientCertificateRef": objectReference},
		"defaultScope":     text,
		"tls": fields{
			"backend": fields{"clientCertificateRef": objectReference},
			"frontend": fields{
				"default": fields{"validation": clientValidation},
				"perPort": listOf{fields{"port": integer, "tls": fields{"validation": clientValidation}}},
			},
		},
	}
	listenerFields = fields{"tls": fields{
		"mode": text, "certificateRefs": listOf{objectReference}, "options": mapOf{text}, "frontendValidation": clientValidation,
	}}
)

// gateway decodes the spec of a Gateway.
func (g *gatewayDocument) gateway() *Gateway {
	out := &Gateway{Header: g.h}
	c := g.spec
	if c == nil {
		return out
	}
	c.shaped(gatewayFields)
	items, at := c.list("listeners")
	switch {
	case c.value("listeners") == nil:
		c.missing("listeners", "")
	case at != nil && len(items) == 0:
		c.fail(c.field("listeners").key, diag.Missing, "", "listeners of spec is empty")
	}
	seen := make(map[string]diag.Position)
	for _, item := range items {
		l, ok := g.d.listener(item)
		if !ok {
			continue
		}
		if g.d.unique(seen, l.Name, "listener") {
			out.Listeners = append(out.Listeners, l)
		}
	}
	c.done()
	return out
}

// unique reports a name that is there already.
func (d *decoder) unique(seen map[string]diag.Position, name Text, what string) bool {
	first, twice := seen[name.Value]
	if !twice {
		seen[name.Value] = name.At
		return true
	}
	d.add(diag.Diagnostic{
		Position: name.At, Length: len([]rune(name.Value)), Code: diag.Duplicate,
		Message: "duplicate " + what + " " + quote(name.Value),
		Related: []diag.Related{{Position: first, Message: "the first one is here"}},
	})
	return false
}

// listener decodes one of listeners and reports whether it has a name.
func (d *decoder) listener(n *node) (Listener, bool) {
	l := Listener{At: d.at(n), From: "Same"}
	c := d.cursor(n, "a listener", false)
	if c == nil {
		return l, false
	}
	name := c.required("name")
	if hostname := c.text("hostname"); hostname != nil && hostname.value != "" {
		l.Hostname = d.hostname(hostname, "hostname")
	}
	if c.value("port") == nil {
		c.missing("port", "")
	}
	l.Port, _ = c.integer("port", 1, 65535)
	if protocol := c.required("protocol"); protocol != nil {
		l.Protocol = protocol.value
	}
	d.allowedRoutes(c.mapping("allowedRoutes"), &l)
	c.shaped(listenerFields)
	c.done()
	if name == nil {
		return l, false
	}
	l.Name = d.text(name)
	return l, true
}

var hostnameForm = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)

// hostname reads a host name, perhaps with "*" as its first label, in lower case;
// empty where it is none.
func (d *decoder) hostname(n *node, name string) string {
	lower := fold(n.value)
	if !hostnameForm.MatchString(lower) {
		d.fail(n, diag.Value, "write \"www.example.com\" or \"*.example.com\"", "%s %s is no host name", name, quote(n.value))
		return ""
	}
	return lower
}

// allowedRoutes decodes which routes a listener lets itself be used by.
func (d *decoder) allowedRoutes(c *cursor, l *Listener) {
	if c == nil {
		return
	}
	namespaces := c.mapping("namespaces")
	if from := namespaces.word("from", diag.Value, "Same", "All", "Selector", "None"); from != nil {
		l.From = from.value
	}
	if n := namespaces.value("selector"); n != nil {
		selector := d.selector(n)
		if l.From == "Selector" {
			d.namespaceLabels(n)
			l.Namespaces = &selector
		}
	} else if l.From == "Selector" {
		namespaces.missing("selector", "write selector: {matchLabels: {"+namespaceName+": NAME}}")
		l.Namespaces = &Selector{}
	}
	namespaces.done()
	kinds, _ := c.list("kinds")
	for _, n := range kinds {
		k := d.cursor(n, "an entry of kinds", false)
		group, name := k.text("group"), k.required("kind")
		k.done()
		switch {
		case name == nil:
		case group != nil && group.value != groupGateway:
			l.Kinds = append(l.Kinds, group.value+"/"+name.value)
		default:
			l.Kinds = append(l.Kinds, name.value)
		}
	}
	c.done()
}

// namespaceName is the label that every namespace has, with its name.
const namespaceName = "kubernetes.io/metadata.name"

// namespaceLabels reports the labels of a selector that nobody here can know.
func (d *decoder) namespaceLabels(n *node) {
	var keys []*node
	if labels := n.find("matchLabels", false); labels != nil {
		for _, f := range labels.value.fields {
			keys = append(keys, f.key)
		}
	}
	if expressions := n.find("matchExpressions", false); expressions != nil {
		for _, e := range expressions.value.items {
			if key := e.find("key", false); key != nil && key.value.kind == text {
				keys = append(keys, key.value)
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(k *node) bool { return k.value == namespaceName })
	for _, key := range keys {
		d.fail(key, diag.NamespaceSelector, "write "+namespaceName+", the namespace's name",
			"label %s of a namespace is not known here", quote(strings.TrimSpace(key.value)))
	}
}
