//! Texts and sessions made for the benches by a seeded generator, so that
//! every machine and every run measures the same work.

pub mod session;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Ordinary words, for prose and for the parts of names.
const WORDS: &str = "the a of and to in that is was for on with as by at from which this have not \
    queue lease shard worker batch ledger invoice cursor retry window anchor parser token buffer \
    merge commit branch deploy quota signal filter index column record schema header trailer \
    export import socket thread timer budget policy region replica snapshot journal segment \
    should would before after because while until without under between every other failing \
    slowly twice again never always checked changed found closed opened written measured kept";

/// Common words of Chinese prose; random code points would be no text.
const CJK: &str = "我们 系统 数据 问题 需要 可以 已经 没有 这个 时候 开始 使用 文件 测试 结果 配置 \
    服务 请求 错误 时间 用户 接口 版本 更新 检查 修改 运行 因为 所以 但是 如果 然后 网络 内存 \
    记录 日志 处理 方法 设计 实现 部署 任务 队列 缓存 连接 关闭 超时 重试 ， 。 的 了 在 是 和";

/// Writes texts from a seed.
pub struct Author {
    die: ChaCha8Rng,
    words: Vec<&'static str>,
    cjk: Vec<&'static str>,
}

impl Author {
    /// An author whose texts follow from `seed`.
    pub fn new(seed: u64) -> Author {
        Author {
            die: ChaCha8Rng::seed_from_u64(seed),
            words: WORDS.split_whitespace().collect(),
            cjk: CJK.split_whitespace().collect(),
        }
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.die.random_range(0..limit)
    }

    fn word(&mut self) -> &'static str {
        let at = self.below(self.words.len());
        self.words[at]
    }

    /// A compound that occurs nowhere else: `lease_shard_4f21c`.
    pub fn name(&mut self) -> String {
        let (one, other) = (self.word(), self.word());
        format!("{one}_{other}_{:05x}", self.below(1 << 20))
    }

    /// English sentences of at least `bytes` bytes.
    pub fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let length = 6 + self.below(14);
            let words: Vec<&str> = (0..length).map(|_| self.word()).collect();
            text.push_str(&words.join(" "));
            text.push_str(". ");
        }
        text
    }

    /// Source code with line numbers, as a file is read, of at least `bytes` bytes.
    pub fn code(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        let mut line = 1;
        while text.len() < bytes {
            let (function, value) = (self.name(), self.name());
            let (module, other) = (self.word(), self.word());
            let number = self.below(100_000);
            for row in [
                format!("/// Keeps the {module} {other} until it is closed."),
                format!("pub fn {function}({module}: &mut {other}::Pool) -> Result<u64, Error> {{"),
                format!("    let {value} = {module}.take({number})?;"),
                format!("    if {value}.is_empty() {{ return Err(Error::Empty(\"{other}\")); }}"),
                format!("    Ok({value}.len() as u64 + {number})"),
                "}".to_owned(),
            ] {
                text.push_str(&format!("{line:>6}\t{row}\n"));
                line += 1;
            }
        }
        text
    }

    /// Chinese prose of at least `bytes` bytes.
    pub fn cjk(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let at = self.below(self.cjk.len());
            text.push_str(self.cjk[at]);
        }
        text
    }
}
