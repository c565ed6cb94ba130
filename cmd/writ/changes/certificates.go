package changes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/translator/diag"
)

// notOfNames are the characters that names of files do not have.
var notOfNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// mostOfName is how many characters of the name of an assertion the name of its file has.
const mostOfName = 100

// writeCertificates writes the certificates of a report to a folder, one file each: NUMBER-NAME
// with the place of the assertion in the report.
func writeCertificates(folder string, report *verify.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write certificates: %w", err)
	}
	for i := range report.Assertions {
		c := report.Assertions[i].Certificate
		if c == nil {
			continue
		}
		var text bytes.Buffer
		if err := diag.WriteIndented(&text, c); err != nil {
			return err
		}
		name := notOfNames.ReplaceAllString(c.Document+"-"+c.Name, "-")
		name = fmt.Sprintf("%04d-%s.json", i, name[:min(len(name), mostOfName)])
		if err := os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o644); err != nil { //nolint:gosec // others check it
			return fmt.Errorf("write certificates: %w", err)
		}
	}
	return nil
}
