package cli

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/demo"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/spf13/cobra"
)

// workerVerb is the hidden verb under which this program is its own worker.
const workerVerb = "demo-worker"

func (a *app) demo() *cobra.Command {
	var o demo.Options
	c := &cobra.Command{
		Use:   "demo",
		Short: "audit a directory tree durably, killed on the way",
		Long: `demo audits a directory tree as a durable execution: one effect lists it, one effect
a file takes its size, SHA-256, lines and language, at most 16 at once, and a last one
writes a report. The work runs in a process of its own, which demo kills with SIGKILL
as often as --kills says, at random moments while effects are under way, and starts
again at once. A tree that would be done too soon is worked on more slowly until the
last kill.

Every effect writes to a ledger outside the database when it is called and when it is
done. From the ledger and the log demo counts in the end how many effects were called
again because a kill cut them off (at most 16 a kill), that no recorded result was
lost, and that a second start of the same id does nothing. If one of these does not
hold it exits with 1.

Symbolic links are not followed; pipes, sockets and devices are not opened; a file
that cannot be read is an entry of the report that says so. Names may be any bytes.
The demo's own files are left out.

With an --id that exists in the database:
  finished    nothing is done again; its figures are shown, and the second start
              is put to the test again
  unfinished  it goes on where it stands
  running     this demo follows the one that conducts it, and goes on in its place
              should that one be killed
  another job (another tree, another flow) exit 5`,
		Example: `  loom demo
  loom demo --dir ~/src --kills 5
  loom demo --id audit-1 && loom demo --id audit-1   # the second does no work`,
		Args: cobra.NoArgs,
		RunE: verb("loom demo --help", func(c *cobra.Command, _ []string) error {
			if a.flags.store != "" {
				if c.Flags().Changed("db") {
					return fault.New(fault.Usage, "usage", "--db and --store both name the database", "loom demo --help")
				}
				p, err := a.place()
				if err != nil {
					return err
				}
				o.DB = p.path
			}
			if o.ID == "" {
				o.ID = newDemoID(a.now())
			}
			bar := newBar(a.screen)
			o.Worker, o.Progress, o.Note = workerCommand, bar.set, bar.note
			f, err := demo.Run(c.Context(), o)
			bar.close()
			if err != nil {
				return err
			}
			if a.flags.json {
				err = a.screen.Emit("demo", f)
			} else {
				printFigures(a.screen, f, invocation())
			}
			if err == nil && len(f.Broken) > 0 {
				err = fault.New(fault.Unexpected, "promise_broken", strings.Join(f.Broken, "; "),
					fmt.Sprintf("%s log %s --store %s", invocation(), f.Execution, quote("sqlite:"+f.DB)))
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "dir", ".", "the tree to audit")
	f.StringVar(&o.DB, "db", "loom-demo.db", "the database, as --store names it too; ledger and report are written beside it")
	f.StringVar(&o.ID, "id", "", "id of the execution (default: a new one)")
	f.IntVar(&o.Kills, "kills", 3, "how often to kill the worker")
	return c
}

// newDemoID returns an id that tells people when the demo was.
func newDemoID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return "demo-" + now.UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// workerCommand returns this program as a worker. The job is handed over as JSON, so
// that a path of any bytes arrives as it is.
func workerCommand(job demo.Job) *exec.Cmd {
	raw, err := json.Marshal(job)
	if err != nil {
		raw = []byte("{}") // the worker refuses it
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.Command(self, workerVerb, string(raw))
	cmd.Args[0] = os.Args[0]
	return cmd
}

func (a *app) demoWorker() *cobra.Command {
	return &cobra.Command{
		Use:    workerVerb + " JOB",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: verb("loom demo", func(c *cobra.Command, args []string) error {
			// An interrupt goes to everything in a terminal; what becomes of the worker
			// is for the conductor to say.
			signal.Ignore(os.Interrupt)
			var job demo.Job
			if err := json.Unmarshal([]byte(args[0]), &job); err != nil || job.ID == "" {
				return fault.New(fault.Usage, "usage", "demo-worker is started by demo", "loom demo")
			}
			return demo.Work(c.Context(), job, a.stdin)
		}),
	}
}

// invocation returns how this program was called, for commands that people paste.
func invocation() string {
	if self, err := os.Executable(); err == nil && strings.Contains(self, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/loom"
	}
	return "loom"
}

// quote returns a word for a shell.
func quote(word string) string {
	for _, r := range word {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("/._-:+@%=,", r):
		default:
			return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return word
}
