package flowcheck

import (
	"go/types"
	"regexp"
	"strings"
)

// A deed is what a function or a variable of the standard library, or of a well-known
// module, does to a flow.
type deed struct {
	code    Code
	instead string // "" for what its code says
	// flowOnly marks what is harmless in a helper that has no loom.Context: nothing
	// waits for a verb there.
	flowOnly bool
}

// advice returns what to use instead.
func (d deed) advice() string {
	if d.instead != "" {
		return d.instead
	}
	return d.code.instead()
}

// entry is a line of the table: names of one package that do the same. A method is
// written Type.Method. A name may end in *, which stands for any end.
type entry struct {
	pkg   string
	names string
	deed  deed
}

// world is what the standard library does. What is not in it does no harm, or so little
// that a finding would be noise: loggers, formatting, locks inside of other types.
var world = []entry{
	{"time", "Now Since Until", deed{code: Clock, instead: "use loom.Now"}},
	{"time", "Sleep After AfterFunc Tick NewTimer NewTicker", deed{code: Clock, instead: "use loom.Sleep, or loom.Within for an await"}},
	{"context", "WithTimeout* WithDeadline*", deed{code: Clock, instead: "use loom.Timeout for a step, or loom.Within for an await"}},

	{"math/rand", "Int Intn Int31 Int31n Int63 Int63n Uint32 Uint64 Float32 Float64 ExpFloat64 NormFloat64 Perm Read Seed Shuffle", deed{code: Random, instead: "use loom.Rand"}},
	{"math/rand/v2", "Int IntN Int32 Int32N Int64 Int64N N Uint UintN Uint32 Uint32N Uint64 Uint64N Float32 Float64 ExpFloat64 NormFloat64 Perm Shuffle", deed{code: Random, instead: "use loom.Rand"}},
	{"crypto/rand", "Read Int Prime Text Reader", deed{code: Random, instead: "use loom.Rand or loom.NewID; draw secrets in an effect"}},
	{"hash/maphash", "MakeSeed", deed{code: Random}},

	{"os", "Getenv LookupEnv Environ ExpandEnv Setenv Unsetenv Clearenv Args Hostname Executable Getpid Getppid Getuid Geteuid Getgid Getegid Getgroups Getwd UserHomeDir UserCacheDir UserConfigDir TempDir", deed{code: Env}},
	{"os/user", "Current Lookup* User.GroupIds", deed{code: Env}},
	{"runtime", "NumCPU NumGoroutine GOMAXPROCS", deed{code: Env}},
	{"runtime/debug", "ReadBuildInfo", deed{code: Env}},
	{"flag", "Parse Arg Args NArg Lookup", deed{code: Env}},

	{"os", "Open OpenFile OpenInRoot OpenRoot Create CreateTemp ReadFile WriteFile ReadDir ReadLink Readlink Stat Lstat DirFS CopyFS Mkdir MkdirAll MkdirTemp Remove RemoveAll Rename Link Symlink Truncate Chdir Chmod Chown Lchown Chtimes Pipe Stdin NewFile", deed{code: Files}},
	{"os", "File.Read* File.Seek File.Stat File.Sync File.Truncate Root.*", deed{code: Files}},
	{"io/ioutil", "ReadFile WriteFile ReadDir TempFile TempDir", deed{code: Files}},
	{"path/filepath", "Walk WalkDir Glob EvalSymlinks Abs", deed{code: Files}},
	{"fmt", "Scan Scanf Scanln", deed{code: Files}},

	{"os", "Exit StartProcess FindProcess Process.*", deed{code: Process}},
	{"os/exec", "LookPath Cmd.Run Cmd.Start Cmd.Wait Cmd.Output Cmd.CombinedOutput", deed{code: Process}},
	{"os/signal", "Notify NotifyContext Ignore Reset Stop", deed{code: Process}},
	{"syscall", "Exec ForkExec StartProcess Kill Exit", deed{code: Process}},

	{"net", "Dial* Listen* Lookup* Resolve* Interfaces InterfaceByName InterfaceAddrs FileConn FileListener Dialer.Dial* Resolver.Lookup* ListenConfig.Listen* Conn.Read Conn.Write Listener.Accept PacketConn.* TCPConn.* UDPConn.* UnixConn.*", deed{code: Network}},
	{"net/http", "Get Head Post PostForm ListenAndServe* Serve ServeTLS Client.Do Client.Get Client.Head Client.Post Client.PostForm Transport.RoundTrip RoundTripper.RoundTrip Server.ListenAndServe* Server.Serve* Server.Shutdown Server.Close", deed{code: Network}},
	{"net/rpc", "Dial* Client.Call Client.Go Accept ServeConn", deed{code: Network}},
	{"net/smtp", "Dial SendMail Client.*", deed{code: Network}},
	{"crypto/tls", "Dial DialWithDialer Listen Dialer.Dial*", deed{code: Network}},
	{"database/sql", "Open OpenDB DB.Begin* DB.Close DB.Conn DB.Exec* DB.Ping* DB.Prepare* DB.Query* Conn.Begin* Conn.Exec* Conn.Ping* Conn.Prepare* Conn.Query* Tx.Commit Tx.Rollback Tx.Exec* Tx.Prepare* Tx.Query* Stmt.Exec* Stmt.Query* Rows.Next Rows.Scan Row.Scan", deed{code: Network, instead: "ask the database in an effect, loom.Do"}},

	{"sync", "WaitGroup.Go", deed{code: Goroutine}},
	{"context", "AfterFunc", deed{code: Goroutine}},
	{"golang.org/x/sync/errgroup", "Group.Go Group.TryGo", deed{code: Goroutine}},

	{"sync", "Mutex.Lock Mutex.TryLock RWMutex.Lock RWMutex.RLock RWMutex.TryLock RWMutex.TryRLock Locker.Lock", deed{code: Lock, flowOnly: true}},
	{"sync", "WaitGroup.Wait Cond.Wait", deed{code: Lock, instead: "wait with the loom.Future of a branch"}},
	{"sync", "Once.Do", deed{code: Lock, flowOnly: true, instead: "a replay would not run it again: call it plainly, or in an effect"}},
	{"golang.org/x/sync/errgroup", "Group.Wait", deed{code: Lock, instead: "wait with loom.All over branches"}},
}

// generators are well-known modules that make ids which no replay can repeat. Major
// versions in a path are ignored.
var generators = []entry{
	{"github.com/google/uuid", "New NewString NewRandom NewUUID NewV6 NewV7 NewDCE*", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/gofrs/uuid", "NewV1 NewV4 NewV6 NewV7 NewGen", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/satori/go.uuid", "NewV1 NewV2 NewV4", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/hashicorp/go-uuid", "GenerateUUID GenerateRandomBytes", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/pborman/uuid", "New NewRandom NewUUID", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/oklog/ulid", "Make DefaultEntropy MustNewDefault", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/oklog/ulid", "Now", deed{code: Clock, instead: "use loom.Now"}},
	{"github.com/rs/xid", "New NewWithTime", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/segmentio/ksuid", "New NewRandom NewRandomWithTime", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/lithammer/shortuuid", "New", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/teris-io/shortid", "Generate MustGenerate", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/matoous/go-nanoid", "New Nanoid Generate Must MustGenerate ID", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/bwmarrin/snowflake", "Node.Generate", deed{code: Random, instead: "use loom.NewID"}},
	{"github.com/sony/sonyflake", "Sonyflake.NextID", deed{code: Random, instead: "use loom.NewID"}},
	{"go.mongodb.org/mongo-driver/bson/primitive", "NewObjectID", deed{code: Random, instead: "use loom.NewID"}},
	{"go.mongodb.org/mongo-driver/bson", "NewObjectID", deed{code: Random, instead: "use loom.NewID"}},
}

// known is the table by package and name; any holds the names that end in *.
var known, anyEnd = index(world, generators)

func index(tables ...[]entry) (exact map[string]deed, prefixes map[string][]prefixed) {
	exact, prefixes = map[string]deed{}, map[string][]prefixed{}
	for _, table := range tables {
		for _, e := range table {
			for _, name := range strings.Fields(e.names) {
				if start, ok := strings.CutSuffix(name, "*"); ok {
					prefixes[e.pkg] = append(prefixes[e.pkg], prefixed{start, e.deed})
				} else {
					exact[e.pkg+"."+name] = e.deed
				}
			}
		}
	}
	return exact, prefixes
}

type prefixed struct {
	start string
	deed  deed
}

var majorVersion = regexp.MustCompile(`/v[2-9][0-9]*(/|$)`)

// deedOf looks a function, method or variable up in the table.
func deedOf(obj types.Object) (deed, bool) {
	if obj == nil || obj.Pkg() == nil {
		return deed{}, false
	}
	name, ok := tableName(obj)
	if !ok {
		return deed{}, false
	}
	path := obj.Pkg().Path()
	if strings.Contains(path, ".") { // not the standard library's
		path = strings.TrimSuffix(majorVersion.ReplaceAllString(path, "$1"), "/")
	}
	if d, ok := known[path+"."+name]; ok {
		return d, true
	}
	for _, p := range anyEnd[path] {
		if strings.HasPrefix(name, p.start) {
			return p.deed, true
		}
	}
	return deed{}, false
}

// tableName returns obj's name as the table writes it; ok is false for what is neither
// a function, nor a method, nor a variable of a package.
func tableName(obj types.Object) (name string, ok bool) {
	switch obj := obj.(type) {
	case *types.Func:
		recv := obj.Signature().Recv()
		if recv == nil {
			return obj.Name(), true
		}
		t := types.Unalias(recv.Type())
		if p, isPointer := t.(*types.Pointer); isPointer {
			t = types.Unalias(p.Elem())
		}
		named, isNamed := t.(*types.Named)
		if !isNamed {
			return "", false
		}
		return named.Obj().Name() + "." + obj.Name(), true
	case *types.Var:
		return obj.Name(), obj.Parent() == obj.Pkg().Scope()
	}
	return "", false
}

// callers are packages of the standard library whose functions call what they are given,
// there and then.
var callers = map[string]bool{"slices": true, "sort": true, "strings": true, "bytes": true, "maps": true, "cmp": true}

// display returns how a person writes obj: os.Getenv, http.Client.Do.
func display(obj types.Object) string {
	name, ok := tableName(obj)
	if !ok {
		name = obj.Name()
	}
	if obj.Pkg() == nil {
		return name
	}
	return obj.Pkg().Name() + "." + name
}
