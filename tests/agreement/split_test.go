package agreement

import (
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/visibility"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// ofCluster builds and activates the bundle of one cluster.
func ofCluster(t *testing.T, snapshot source.Snapshot, cluster string, o engine.Options) (*bundles.Bundle, *engine.Engine) {
	t.Helper()
	snapshot.Cluster = cluster
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(context.Background(), snapshot)
	if result == nil {
		t.Fatalf("cluster %q: %+v", cluster, list)
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(context.Background(), bundle, o)
	if err != nil {
		t.Fatal(err)
	}
	return bundle, e
}

const elsewhere = `the bundle is for cluster `

// checkElsewhere checks that a request about another cluster is denied by the engine and,
// if it is not nil, a stock OPA.
func checkElsewhere(t *testing.T, e *engine.Engine, stock *rego.PreparedEvalQuery, r *decision.Request, text string) {
	t.Helper()
	d := e.Access(context.Background(), r)
	if d.Allowed || !d.Denied || !strings.Contains(d.EvaluationError, elsewhere) {
		t.Fatalf("%s: the engine of another cluster decides %+v", text, d)
	}
	if stock == nil {
		return
	}
	if of := ofStock(t, *stock, text); of.Allowed || !of.Denied || of.Reason != d.Reason {
		t.Fatalf("%s: the OPA of another cluster decides %+v, the engine %+v", text, of, d)
	}
}

// One of so many clusters of a world, and of suites, has its bundle built.
const (
	clustersEvery = 3
	suitesEvery   = 4
)

// The bundle of a cluster decides a request about it, and one that names no cluster, as
// the oracle decides the request about that cluster by all documents; it denies a request
// about another one. Requests with one key get one decision.
func TestBundleOfAClusterAgreesWithTheWhole(t *testing.T) {
	t.Parallel()
	decided := make(map[string]int)
	for seed := firstWorld(); seed < firstWorld()+uint64(denyWorlds()); seed++ {
		files, world := access.GenerateDeny(seed)
		requests := world.Requests(requestsPerWorld)
		var clusters []string
		for _, r := range requests {
			if r.Cluster != "" {
				clusters = append(clusters, r.Cluster)
			}
		}
		slices.Sort(clusters)
		for number, cluster := range slices.Compact(clusters) {
			if (uint64(number)+seed)%clustersEvery != 0 {
				continue
			}
			bundle, e := ofCluster(t, snapshotOf(files), cluster, engine.Options{Now: func() time.Time { return time.Unix(0, 0) }})
			stock := stockOPA(t, bundle)
			byKey := make(map[string]decision.Decision)
			for i, r := range requests {
				named := r.Cluster
				r.Cluster = cluster
				want := ofOracle(world.Decide(r))
				for j, name := range slices.Compact([]string{"", cluster, named}) {
					r.Cluster = name
					text := r.JSON()
					q, err := decision.Decode[decision.Request]([]byte(text))
					if err != nil {
						continue // the same for every bundle
					}
					isAsked := (i+j+number)%(3*stockEvery) == 0
					d := e.Access(context.Background(), q)
					key := string(e.AccessKey(nil, q))
					if before, ok := byKey[key]; ok && !reflect.DeepEqual(before.For(q), d) {
						t.Fatalf("world %d, cluster %s, request %d %s\none key, but %+v\nand        %+v", seed, cluster, i, text, before.For(q), d)
					}
					byKey[key] = d
					if name != "" && name != cluster {
						checkElsewhere(t, e, map[bool]*rego.PreparedEvalQuery{true: &stock}[isAsked], q, text)
						decided["elsewhere"]++
						continue
					}
					got := ofDecision(d)
					if !begin(got.Warnings, want.Warnings) {
						t.Fatalf("world %d, cluster %s, request %d %s\nengine %q\noracle %q", seed, cluster, i, text, got.Warnings, want.Warnings)
					}
					if want.Warnings = got.Warnings; !reflect.DeepEqual(got, want) {
						t.Fatalf("world %d, cluster %s, request %d %s\nengine %+v\noracle %+v", seed, cluster, i, text, got, want)
					}
					if isAsked {
						if of := ofStock(t, stock, text); !reflect.DeepEqual(of, got) {
							t.Fatalf("world %d, cluster %s, request %d %s\nOPA    %+v\nengine %+v", seed, cluster, i, text, of, got)
						}
					}
					decided[got.outcome()]++
				}
			}
		}
	}
	wanted := []string{"denied", "neither", "elsewhere"}
	if denyWorlds() >= 5 { // one of fifty worlds allows nothing in the clusters that are built
		wanted = append(wanted, "allowed")
	}
	for _, outcome := range wanted {
		if decided[outcome] == 0 {
			t.Errorf("no request was %s: %v", outcome, decided)
		}
	}
}

// The bundle of a cluster decides the conformance cases about it as the bundle of all
// clusters does, whether a request names the cluster or not.
func TestBundleOfAClusterDecidesTheCases(t *testing.T) {
	t.Parallel()
	suites, err := filepath.Glob("../conformance/deny/*/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, cases := range suites {
		if (uint64(i)+firstWorld())%suitesEvery != 0 {
			continue
		}
		dir := filepath.Join(filepath.Dir(cases), "policies")
		snapshot, _, err := source.Dir(dir, source.DirOptions{}).Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var whole *engine.Engine
		own := make(map[string]*engine.Engine)
		for _, text := range readInputs(t, cases) {
			r, err := decision.Decode[decision.Request](text)
			if err != nil || r.Cluster == "" {
				continue
			}
			if whole == nil {
				_, whole = ofCluster(t, snapshot, "", engine.Options{})
			}
			if own[r.Cluster] == nil {
				_, own[r.Cluster] = ofCluster(t, snapshot, r.Cluster, engine.Options{})
			}
			want := ofDecision(whole.Access(context.Background(), r))
			for cluster, e := range own {
				if cluster != r.Cluster {
					checkElsewhere(t, e, nil, r, string(text))
				}
			}
			e := own[r.Cluster]
			unnamed := *r
			unnamed.Cluster = ""
			for _, asked := range []*decision.Request{r, &unnamed} {
				if got := ofDecision(e.Access(context.Background(), asked)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s\nof the cluster %+v\nof all         %+v", dir, text, got, want)
				}
				compared++
			}
		}
	}
	if compared < 10 {
		t.Errorf("compared %d decisions, which cannot be all", compared)
	}
}

// At the point visibility, the bundle of a cluster decides as that of all clusters, and
// denies what is asked about another one.
func TestBundleOfAClusterAgreesOnVisibility(t *testing.T) {
	t.Parallel()
	const stockOf = 20 // OPA is asked one of so many requests
	asked := make(map[string]int)
	files, views := visibility.Generate(firstWorld())
	var now time.Time
	o := engine.Options{Now: func() time.Time { return now }}
	bundle, e := ofCluster(t, snapshotOf(files), "prod-eu-1", o)
	_, whole := ofCluster(t, snapshotOf(files), "", o)
	stock := stockPoint(t, bundle, "visibility")
	for i, r := range views.Requests(requestsPerWorld) {
		if now = r.Now; i%3 == 0 {
			r.Cluster.Name = "prod-eu-1"
		}
		text := r.JSON()
		q, err := decodeVisibility([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := decision.DecideVisibility(context.Background(), e, q, e.Visibility(context.Background(), q))
		where := "here"
		if name := q.Cluster.Name; name != "" && name != "prod-eu-1" {
			where = "elsewhere"
			if got.Decision != decision.VisibleNone || !strings.Contains(got.EvaluationError, elsewhere) {
				t.Fatalf("%s: the engine of another cluster decides %+v", text, got)
			}
		} else {
			want := decision.DecideVisibility(context.Background(), whole, q, whole.Visibility(context.Background(), q))
			if got, want := string(got.AppendJSON(nil)), string(want.AppendJSON(nil)); got != want {
				t.Fatalf("%s\nof the cluster %s\nof all         %s", text, got, want)
			}
		}
		if asked[where]++; asked[where]%stockOf == 0 {
			var of struct{ Decision, Reason string }
			if err := json.Unmarshal([]byte(written(t, viewOfStock(t, stock, text, now))), &of); err != nil {
				t.Fatal(err)
			}
			if of.Decision != got.Decision || of.Reason != got.Reason {
				t.Fatalf("%s\nOPA    %+v\nengine %+v", text, of, got.Authorization)
			}
		}
		if keyOf(e, q) == keyOf(whole, q) {
			t.Fatalf("%s has the key of the bundle of all clusters", text)
		}
	}
	if asked["here"] < 50 || asked["elsewhere"] < 50 {
		t.Errorf("requests: %v", asked)
	}
}
