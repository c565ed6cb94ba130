package registry

import (
	"slices"
	"sync"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/visibility"
)

// kinds are the kinds of all families.
var kinds = sync.OnceValue(func() syntax.Kinds {
	return slices.Concat(access.KubernetesKinds, access.OriginKinds(), decisiontest.DecisionTestKinds, deny.DenyPolicyKinds,
		visibility.VisibilityKinds, document.GatewayKinds(), extension.ExtensionKinds)
})

// Kinds returns the kinds of all families. The list is shared and must not be modified.
func Kinds() syntax.Kinds { return kinds() }

// Decode decodes a file with the kinds of all families.
func Decode(file string, content []byte) ([]syntax.Document, diag.List) {
	return kinds().Decode(file, content)
}
