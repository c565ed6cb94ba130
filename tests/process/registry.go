package process

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry runs an OCI registry until the test ends, and returns its address: the program of
// tests/registry or, if that is empty, one in memory.
func Registry(t testing.TB, program string) string {
	t.Helper()
	if program == "" {
		server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	address := FreeAddress(t)
	command := exec.Command(program, address, t.TempDir())
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	for end := time.Now().Add(time.Minute); ; {
		response, err := http.Get("http://" + address + "/v2/")
		if err == nil {
			response.Body.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
