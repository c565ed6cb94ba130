package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// projected is what one revision projects requests by, and what changed with it.
type projected struct {
	revision string
	access   *projection.Access
	tree     *match.Tree
	// rules is a hash of the Rego that access decisions evaluate, apart from denials.
	rules      string
	denials    denyRules
	denyChange *denyChange // since the revision before; nil for the first one
	visibility *projection.Visibility
	gateway    *projection.Gateway
	// routing is a hash of what gateway decisions depend on but the access point, which
	// rules ask if reviews is true.
	routing string
	reviews bool
	// opaque are the paths through gateways whose policies can read anything.
	opaque map[decision.GatewayTarget]bool
}

// maxEarlier is how many earlier revisions an engine compares itself with. They share most
// of their memory.
const maxEarlier = 16

// project prepares the projections of a bundle that e is activated with. The earlier
// revisions are those of last, which may be nil, the newest first.
func project(b *bundles.Bundle, e, last *Engine) (now *projected, earlier []*projected) {
	now = &projected{
		revision:   b.Manifest.Revision,
		access:     projection.NewAccess(b.Footprint, e.tree),
		tree:       e.tree,
		rules:      b.Hash(func(path string) bool { return decidesAccess(path) && !isDenial(path) }),
		denials:    denyRulesOf(b, e),
		visibility: projection.NewVisibility(nil),
		gateway:    projection.NewGateway(nil),
	}
	if f := b.Footprint; f != nil {
		now.visibility = projection.NewVisibility(f.Visibility)
		if table := tables.Of[*tables.Gateway](b.Tables); table != nil && f.Gateway != nil {
			now.addGateway(b, f.Gateway, table)
		}
	}
	if last != nil {
		now.denyChange = now.denials.changeSince(&last.projected.denials)
		earlier = append([]*projected{last.projected}, last.earlier[:min(len(last.earlier), maxEarlier-1)]...)
	}
	return now, earlier
}

// addGateway prepares the projection of the gateway point.
func (p *projected) addGateway(b *bundles.Bundle, f *footprint.Gateway, table *tables.Gateway) {
	text, err := table.JSON()
	if err != nil {
		return // cannot happen: the table was read from JSON
	}
	h := sha256.New()
	h.Write([]byte(b.Hash(decidesGateway)))
	for _, part := range text {
		h.Write(part)
	}
	p.gateway, p.routing, p.reviews = projection.NewGateway(f), hex.EncodeToString(h.Sum(nil)), f.Reviews
	p.opaque = make(map[decision.GatewayTarget]bool)
	for _, path := range table.Paths {
		if index, found := path.Effective[tables.KindAuthPolicy]; found && slices.Contains(f.Opaque, index) {
			p.opaque[decision.GatewayTarget{Gateway: table.ListenerName(path), Route: table.RuleName(path)}] = true
		}
	}
}

// decidesGateway reports whether gateway decisions evaluate the module at a path, the
// access point included.
func decidesGateway(path string) bool {
	return strings.HasSuffix(path, ".rego") && !bundles.IsTest(path) &&
		!strings.HasPrefix(path, "compiled/visibility/") && !strings.HasPrefix(path, "writ/visibility/")
}

// decidesAccess reports whether access decisions evaluate the module at a path: all
// modules but those of other points.
func decidesAccess(path string) bool {
	if !strings.HasSuffix(path, ".rego") || bundles.IsTest(path) {
		return false
	}
	for _, folder := range [...]string{"compiled/visibility/", "compiled/gateway/", "writ/visibility/", "writ/gateway/"} {
		if strings.HasPrefix(path, folder) {
			return false
		}
	}
	return true
}

// AccessKey implements decision.Policies.
func (e *Engine) AccessKey(b []byte, r *decision.Request) []byte {
	return e.projected.access.Append(b, r)
}

// KeepsAccess implements decision.Policies: no revision since has changed what decides r,
// and r had the key in the earlier one.
func (e *Engine) KeepsAccess(r *decision.Request, earlier string, key []byte) bool {
	now := e.projected
	for _, before := range e.earlier {
		if now.changesAccess(before, r) {
			return false
		}
		if before.revision == earlier {
			return bytes.Equal(before.access.Append(nil, r), key)
		}
		now = before
	}
	return false
}

// changesAccess reports whether the decision on r may differ from that of the revision
// before.
func (p *projected) changesAccess(before *projected, r *decision.Request) bool {
	if p.rules != before.rules || p.denyChange.affects(r) || p.isChanged(r.Namespace, false, r.User) {
		return true
	}
	for _, group := range r.Groups {
		if p.isChanged(r.Namespace, true, group) {
			return true
		}
	}
	return false
}

// VisibilityKey implements decision.Policies.
func (e *Engine) VisibilityKey(r *decision.VisibilityRequest) string {
	return e.projected.visibility.Key(r)
}

// GatewayKey implements decision.Policies.
func (e *Engine) GatewayKey(b []byte, r *decision.GatewayRequest) ([]byte, bool) {
	return e.projected.gateway.Append(b, r)
}

// KeepsGateway implements decision.Policies: nothing has changed since that gateway
// decisions depend on. If rules ask the access point, that is all its documents.
func (e *Engine) KeepsGateway(r *decision.GatewayRequest, earlier string, key []byte) bool {
	now := e.projected
	for _, before := range e.earlier {
		if now.routing != before.routing || now.reviews {
			return false
		}
		if before.revision == earlier {
			same, ok := before.gateway.Append(nil, r)
			return ok && bytes.Equal(same, key)
		}
		now = before
	}
	return false
}

// isOwn reports whether a gateway decision must not answer other requests: a policy of
// its paths, or an extension that a rule may ask, can read anything or the time.
func (e *Engine) isOwn(targets []decision.GatewayTarget) bool {
	return e.projected.reviews && e.access.ReadsClock ||
		slices.ContainsFunc(targets, func(t decision.GatewayTarget) bool { return e.projected.opaque[t] })
}

func (p *projected) isChanged(namespace string, group bool, name string) bool {
	return p.tree.IsChanged("", group, name) || namespace != "" && p.tree.IsChanged(namespace, group, name)
}
