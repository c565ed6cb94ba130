package roads

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/evaluate"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/gateway"
)

// All roads to a decision at the gateway point agree with it, and so do those to the effective
// policies of a target.
func TestGatewayRoadsAgree(t *testing.T) {
	t.Parallel()
	counts := make(map[string]int)
	for seed := gate.Seed(); seed < gate.Seed()+uint64(worlds()); seed++ {
		files, world := gateway.Generate(seed)
		edited, after := gateway.Generate(seed + 1)
		s := newSite(t, seed, accessClusters, files)
		s.counts = counts
		requests := append(world.Requests(60), after.Requests(60)...)
		for _, documents := range []map[string]string{files, edited, files} {
			s.edit(documents)
			s.sameInLog("gateway")
			var asked []map[string]any
			for range 2 * requestsPerState {
				q := members(decode(t, []byte(requests[s.IntN(len(requests))].JSON())))
				want, valid := s.decide("gateway", q)
				if !valid {
					s.sameRefused("gateway", q)
					continue
				}
				s.sameOnRoads("gateway", q, want)
				asked = append(asked, q)
			}
			s.sameInBatches("gateway", asked)
			s.sameOnCommandLine("gateway", asked)
			s.sameReplayed("gateway", asked)
			s.sameEffective(map[bool]*gateway.World{true: world, false: after}[maps.Equal(documents, files)])
		}
	}
	t.Log(counts)
	(&site{T: t}).check(counts, "gateway", "gateway refusal", "effective")
}

// sameEffective compares the effective policies of every target, as the endpoint and the command
// show them.
func (s *site) sameEffective(world *gateway.World) {
	s.Helper()
	var targets []string
	for _, g := range world.Gateways {
		targets = append(targets, "Gateway/"+g.Namespace+"/"+g.Name)
	}
	for _, r := range world.Routes {
		kind := map[bool]string{true: "GRPCRoute", false: "HTTPRoute"}[r.GRPC]
		targets = append(targets, kind+"/"+r.Namespace+"/"+r.Name)
	}
	for _, target := range targets {
		for _, kind := range []string{"AuthPolicy", "RateLimitPolicy", "TokenRateLimitPolicy"} {
			status, text := s.send("GET", s.kept+"/v1/effective/"+kind+"/"+target, "", nil)
			out, failed := new(bytes.Buffer), new(bytes.Buffer)
			command := evaluate.NewEffective(cli.Streams{In: strings.NewReader(""), Out: out, Err: failed})
			command.SetArgs([]string{s.dir, "--kind", kind, "--target", target, "-o", "json"})
			err := command.ExecuteContext(s.Context())
			if status != http.StatusOK || err != nil {
				s.same("effective", target, status == http.StatusOK, err == nil)
				continue
			}
			s.same("effective", target, decode(s.T, out.Bytes()), decode(s.T, text))
		}
	}
}
