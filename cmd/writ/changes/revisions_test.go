package changes

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/translator/source"
)

const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

// Documents that an interrupted command did not translate are not reported as ones with errors.
func TestInterruptedTranslation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var flags documents.Flags
	flags.Add(&cobra.Command{})
	var said bytes.Buffer
	l := &loader{documents: &flags, streams: cli.Streams{Err: &said}}
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("role.yaml", []byte(role))}}
	if _, _, err := l.translate(ctx, "a", input{name: "policies"}, snapshot, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	if said.Len() > 0 {
		t.Errorf("got %q, want nothing", said.String())
	}
}
