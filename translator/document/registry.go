package document

import (
	"slices"
	"sync"

	"github.com/writ-policy/writ/translator/diag"
)

// kinds are the kinds of all families.
var kinds = sync.OnceValue(func() Kinds {
	return slices.Concat(kubernetesKinds, originKinds(), decisionTestKinds, denyPolicyKinds,
		visibilityKinds, gatewayKinds(), extensionKinds)
})

// Decode decodes a file with the kinds of all families.
func Decode(file string, content []byte) ([]Document, diag.List) {
	return kinds().Decode(file, content)
}
