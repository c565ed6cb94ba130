package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	command  = flag.String("writ", os.Getenv("WRIT"), "the built command; without one it is built from ../../cmd/writ")
	seed     = flag.Uint64("seed", 0, "seed of everything random; 0 draws one")
	requests = flag.Int("requests", 100_000, "how many requests to compare")
	oddities = flag.Int("documents", 2_000, "how many documents, valid and not, to compare")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run is apart from TestMain because os.Exit would leave the folder behind.
func run(m *testing.M) int {
	if *seed == 0 {
		*seed = freshSeed()
	}
	fmt.Fprintf(os.Stderr, "seed %d (-seed=%d repeats this run)\n", *seed, *seed)
	if *command == "" {
		folder, err := os.MkdirTemp("", "writ")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		*command = filepath.Join(folder, "writ")
		build := exec.Command("go", "build", "-o", *command, "./cmd/writ")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build writ: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// decision is what is compared of a decision.
type decision struct {
	Allowed bool `json:"allowed"`
	Denied  bool `json:"denied"`
	Matched []struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Rule      int    `json:"rule"`
	} `json:"matched"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// evaluate asks writ for decisions over the documents of a folder, with further flags.
func evaluate(folder string, asked []request, args ...string) ([]decision, error) {
	var in, out, talk bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, r := range asked {
		if err := encoder.Encode(r); err != nil {
			return nil, err
		}
	}
	eval := exec.Command(*command, append([]string{"eval", "--policies", folder, "--point", "access"}, args...)...)
	eval.Stdin, eval.Stdout, eval.Stderr = &in, &out, &talk
	if err := eval.Run(); err != nil {
		return nil, fmt.Errorf("writ eval: %w: %s", err, talk.Bytes())
	}
	decoder := json.NewDecoder(&out)
	decisions := make([]decision, 0, len(asked))
	for decoder.More() {
		var d decision
		if err := decoder.Decode(&d); err != nil {
			return nil, err
		}
		decisions = append(decisions, d)
	}
	if len(decisions) != len(asked) {
		return nil, fmt.Errorf("%d decisions for %d requests: %s", len(decisions), len(asked), talk.Bytes())
	}
	return decisions, nil
}

// complaint is what is compared of a diagnostic.
type complaint struct {
	File     string `json:"file"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// complaints are the errors that writ finds in the documents of a folder.
func complaints(folder string) ([]complaint, error) {
	var out, talk bytes.Buffer
	check := exec.Command(*command, "check", folder, "-o", "json")
	check.Stdout, check.Stderr = &out, &talk
	var status *exec.ExitError
	if err := check.Run(); err != nil && (!errors.As(err, &status) || status.ExitCode() != 1) {
		return nil, fmt.Errorf("writ check: %w: %s", err, talk.Bytes())
	}
	var report struct {
		Diagnostics []complaint `json:"diagnostics"`
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("writ check: %w: %s", err, out.Bytes())
	}
	var found []complaint
	for _, d := range report.Diagnostics {
		if d.Severity == "error" {
			found = append(found, d)
		}
	}
	return found, nil
}
