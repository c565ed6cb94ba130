package agreement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/visibility"
	"github.com/writ-policy/writ/translator/footprint"
)

// Requests with one projection get equal authorizations from the engine, and equal
// decisions from the oracle if they are about the same items. A projection that forgets
// groups is noticed.
func TestEqualVisibilityProjectionsAreAuthorizedEqually(t *testing.T) {
	t.Parallel()
	noticed := map[string]int{}
	shared := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(8, visibilityWorlds()/2)); seed++ {
		files, views := visibility.Generate(seed)
		bundle := build(t, seed, files)
		var now time.Time
		e, err := engine.Activate(context.Background(), bundle, engine.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatalf("world %d: %v", seed, err)
		}
		draw := random.New(seed, 80)
		without := map[string]*projection.VisibilityKeys{
			"groups": projection.NewVisibilityKeys(&footprint.Visibility{ClusterLabels: bundle.Footprint.Visibility.ClusterLabels}),
		}
		all := views.Requests(400)
		for _, request := range all {
			now = request.Now
			varied := varyView(draw, request, all[draw.IntN(len(all))])
			one, two := viewOf(t, request), viewOf(t, varied)
			equal := written(t, e.Visibility(t.Context(), one)) == written(t, e.Visibility(t.Context(), two)) &&
				written(t, views.Decide(request)) == written(t, views.Decide(varied))
			for what, broken := range without {
				if !equal && string(broken.VisibilityKey(nil, one)) == string(broken.VisibilityKey(nil, two)) {
					noticed[what]++
				}
			}
			if keyOf(e, one) != keyOf(e, two) || request.JSON() == varied.JSON() {
				continue
			}
			if shared++; !equal {
				t.Fatalf("world %d: two requests with one projection are authorized differently:\n%s\n%s", seed, request.JSON(), varied.JSON())
			}
		}
	}
	if shared == 0 || noticed["groups"] == 0 {
		t.Errorf("got %d pairs of requests, and broken projections noticed %v times, want some of each", shared, noticed)
	}
	t.Logf("%d pairs of requests; broken projections noticed: %v", shared, noticed)
}

// Labels of clusters that policies select by are part of the projection.
func TestBrokenLabelsOfClustersAreNoticed(t *testing.T) {
	t.Parallel()
	bundle := build(t, 0, map[string]string{"p.yaml": `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: p, namespace: n}
spec:
  identity: {subjects: {groups: [g]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchLabels: {env: prod}}, permissions: {view: true}}]}}
`})
	e, err := engine.Activate(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(env string) *decision.VisibilityRequest {
		return &decision.VisibilityRequest{User: "u", Groups: []string{"g", "other"}, Cluster: decision.Cluster{Name: "c", Labels: map[string]string{"env": env, "x": env}}}
	}
	prod, dev := of("prod"), of("dev")
	if one, two := e.Visibility(t.Context(), prod), e.Visibility(t.Context(), dev); one.Decision == two.Decision {
		t.Fatalf("both requests are decided alike: %+v", one)
	}
	if keyOf(e, prod) == keyOf(e, dev) {
		t.Error("the requests have one projection")
	}
	broken := projection.NewVisibilityKeys(&footprint.Visibility{Groups: bundle.Footprint.Visibility.Groups})
	if string(broken.VisibilityKey(nil, prod)) != string(broken.VisibilityKey(nil, dev)) {
		t.Error("the broken projection still tells the requests apart, so the test proves nothing")
	}
}

func viewOf(t *testing.T, r visibility.Request) *decision.VisibilityRequest {
	t.Helper()
	decoded, err := decodeVisibility([]byte(r.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// varyView changes the groups or the cluster's labels of a request.
func varyView(draw random.Source, r, other visibility.Request) visibility.Request {
	varied := r
	switch draw.IntN(4) {
	case 0:
		varied.Groups = other.Groups
	case 1:
		varied.Groups = append(slices.Clone(r.Groups), fmt.Sprint("zz-", draw.IntN(9)))
	case 2:
		varied.Cluster.Labels = other.Cluster.Labels
	default:
		labels := map[string]string{"zz": fmt.Sprint(draw.IntN(9))}
		maps.Copy(labels, r.Cluster.Labels)
		varied.Cluster.Labels = labels
	}
	return varied
}

func keyOf(p decision.Policies, q decision.Question) string {
	key, _ := p.Key(nil, q)
	return string(key)
}
