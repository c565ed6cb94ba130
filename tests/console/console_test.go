package console

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

var update = flag.Bool("update", false, "rewrite the expected output in documents from what commands print")

// documented is the address that documents write. A test serves at another one,
// which is free.
const documented = "127.0.0.1:8686"

// checkConsole runs the commands of a document's console blocks, in one shell
// and in order, in the root of the repository, and compares what they print with
// what the document says they do. A line that begins with "$ " is a command, a
// line before it that ends in a backslash goes on; the lines up to the next
// command are its output, errors included.
func checkConsole(t *testing.T, document string) {
	t.Helper()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is refused in CI")
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	blocks := consoleBlocks(string(text))
	if len(blocks) == 0 {
		t.Fatalf("%s has no console block", document)
	}
	outputs := runShell(t, blocks)
	for i := range outputs {
		outputs[i] = progressLine.ReplaceAllString(outputs[i], "")
	}
	if *update {
		if err := os.WriteFile(document, []byte(rewrite(string(text), blocks, outputs)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, b := range blocks {
		if outputs[i] != b.output {
			t.Errorf("%s:%d: $ %s\ngot:\n%s\nwant:\n%s", document, b.line, b.command, outputs[i], b.output)
		}
	}
}

// progressLine is what a command prints every ten seconds on a slow machine.
var progressLine = regexp.MustCompile(`(?m)^writ: .*, \d+s\n`)

// exchange is a command of a document and what the document says it prints.
type exchange struct {
	command, output string
	line            int // of the command, from 1
	first, last     int // lines of the output, from 0; last is not of it
}

func consoleBlocks(text string) []exchange {
	var found []exchange
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "```console" {
			continue
		}
		for i++; i < len(lines) && lines[i] != "```"; {
			command, isCommand := strings.CutPrefix(lines[i], "$ ")
			if !isCommand {
				i++
				continue
			}
			e := exchange{line: i + 1}
			for i++; strings.HasSuffix(command, "\\") && i < len(lines); i++ {
				command += "\n" + lines[i]
			}
			e.command, e.first = command, i
			for i < len(lines) && lines[i] != "```" && !strings.HasPrefix(lines[i], "$ ") {
				e.output += lines[i] + "\n"
				i++
			}
			e.last = i
			found = append(found, e)
		}
	}
	return found
}

func rewrite(text string, blocks []exchange, outputs []string) string {
	lines := strings.Split(text, "\n")
	var out []string
	at := 0
	for i, b := range blocks {
		out = append(out, lines[at:b.first]...)
		if outputs[i] != "" {
			out = append(out, strings.Split(strings.TrimSuffix(outputs[i], "\n"), "\n")...)
		}
		at = b.last
	}
	return strings.Join(append(out, lines[at:]...), "\n")
}

// endOfOutput separates the outputs of two commands.
const endOfOutput = "\x00end\x00\n"

// runShell runs the commands in one shell, so that a server started by one of
// them answers another. What it leaves running ends with the test.
func runShell(t *testing.T, blocks []exchange) []string {
	t.Helper()
	address := process.FreeAddress(t)
	var script strings.Builder
	for _, b := range blocks {
		fmt.Fprintf(&script, "%s\nprintf '\\000end\\000\\n'\n", strings.ReplaceAll(b.command, documented, address))
	}
	if err := os.MkdirAll("../../bin", 0o755); err != nil { // as `make build` does
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(process.Writ(t), filepath.Join(bin, "writ")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "curl")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-s")
	shell.Dir = "../.."
	shell.Stdin = strings.NewReader(script.String())
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NO_COLOR=1", "GIT_OPTIONAL_LOCKS=0", "TMPDIR="+t.TempDir())
	// A group of its own, so that what was started in the background ends too.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.Cancel, shell.WaitDelay = end, time.Second
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	err = shell.Run()
	_ = end() // there may be nothing left to end
	if ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s", ctx.Err(), err, out.String())
	}
	outputs := strings.Split(strings.ReplaceAll(out.String(), address, documented), endOfOutput)
	if len(outputs) != len(blocks)+1 {
		t.Fatalf("got %d outputs of %d commands:\n%s", len(outputs)-1, len(blocks), out.String())
	}
	for i, text := range outputs {
		if text != "" && !strings.HasSuffix(text, "\n") {
			outputs[i] += "\n" // a prompt would follow on the same line
		}
	}
	return outputs[:len(blocks)]
}

// This program called as curl does what documents need of curl, so that they are
// true on a machine without it.
func init() {
	if filepath.Base(os.Args[0]) != "curl" {
		return
	}
	if err := curl(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// curl knows -s, -f, -H and -d, as curl has them.
func curl(args []string, out io.Writer) error {
	var url, body string
	var headers []string
	fail, method := false, http.MethodGet
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "-s":
		case arg == "-f" || arg == "-sf":
			fail = true
		case arg == "-H" && len(args) > 0:
			headers, args = append(headers, args[0]), args[1:]
		case arg == "-d" && len(args) > 0:
			method, body, args = http.MethodPost, args[0], args[1:]
		case strings.HasPrefix(arg, "-"):
			return fmt.Errorf("flag %s is not known here", arg)
		default:
			url = arg
		}
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		request.Header.Set(name, strings.TrimSpace(value))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if fail && response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the answer is %s", response.Status)
	}
	_, err = io.Copy(out, response.Body)
	return err
}
