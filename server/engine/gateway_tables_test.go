package engine

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/tests/gate"
	oracle "github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The tables decide as the Rego of the bundle does, word for word, also those that are
// read from a built bundle. Few requests are left to Rego.
func TestGatewayTablesDecideAsRego(t *testing.T) {
	decided, uncertain := 0, 0
	for seed := range uint64(3) {
		files, world := oracle.Generate(seed)
		e := activateRead(t, files)
		for range gate.Worlds(150) {
			text := world.Requests(1)[0].JSON()
			r, err := decision.DecodeGateway([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want, paths, wantErr := e.gatewayByRego(t.Context(), r, e.now())
			routed, ok := e.routes.Route(r)
			if !ok {
				uncertain++
				continue
			}
			got, err := routed.Decide(timeOf(e.now()), &gatewayRego{e, t.Context(), e.now(), ""})
			if errors.Is(err, gateway.ErrUncertain) {
				uncertain++
				continue
			}
			if decided++; wantErr != nil || err != nil || !reflect.DeepEqual(routed.Targets, paths) || string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
				t.Fatalf("world %d: %s\n got %s %v\nwant %s %v\nfiles %s", seed, text, got.AppendJSON(nil), err, want.AppendJSON(nil), wantErr, files)
			}
		}
	}
	if t.Logf("the tables decided %d requests and left %d to Rego", decided, uncertain); decided < 5*uncertain {
		t.Errorf("the tables decided %d requests and left %d to Rego", decided, uncertain)
	}
}

// activateRead activates the bundle of some files as it is read from its tarball.
func activateRead(t *testing.T, files map[string]string) *Engine {
	t.Helper()
	var snapshot source.Snapshot
	for path, content := range files {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(content)))
	}
	return activateSnapshot(t, snapshot)
}

func activateSnapshot(t *testing.T, snapshot source.Snapshot) *Engine {
	t.Helper()
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	built, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var tar bytes.Buffer
	if err := built.WriteTar(&tar); err != nil {
		t.Fatal(err)
	}
	read, err := bundles.Read(&tar)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Activate(t.Context(), read, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
